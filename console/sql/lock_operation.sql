-- lock_operation: whether this transaction is the one that goes a slice of an operation: the advisory
-- lock is tried, and held to the commit.
SELECT pg_try_advisory_xact_lock(%(lock)s::int, %(key)s::int)
