-- alone: take the turn to look for noisy neighbours; false while somebody else has it.
-- Locks: an advisory one, tried, until the transaction ends.
SELECT pg_try_advisory_xact_lock(20266613)
