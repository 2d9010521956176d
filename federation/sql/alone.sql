-- alone: exclude other merges of copies until the transaction ends. A merge ranks all copies of a
-- federation id, so two concurrent merges must see each other's copies.
-- Locks: one advisory lock, before rows of copies.
SELECT pg_advisory_xact_lock(20266618, 0)
