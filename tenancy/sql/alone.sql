-- alone: lock the search for noisy tenants; false if another process has the lock.
-- Locks: an advisory lock, tried, until the transaction ends.
SELECT pg_try_advisory_xact_lock(20266613)
