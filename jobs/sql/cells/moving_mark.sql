-- moving_mark: lock a number until the end of the transaction.
-- Locks: the advisory lock 20266631 with this number, waited for.
SELECT pg_advisory_xact_lock(20266631, %(number)s::int)
