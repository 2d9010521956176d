-- alone: let nobody else merge copies until the transaction ends: winners are found among all copies
-- of a federation id, and two that come at once must see each other.
-- Locks: one advisory lock, before rows of copies.
SELECT pg_advisory_xact_lock(20266618, 0)
