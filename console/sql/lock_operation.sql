-- lock_operation: try the advisory lock of an operation, and hold it to the commit. Its holder runs the
-- slice.
SELECT pg_try_advisory_xact_lock(%(lock)s::int, %(key)s::int)
