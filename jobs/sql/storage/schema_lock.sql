-- schema_lock: try to be the one who migrates, until the transaction ends; if another is, who.
-- The transaction is idle while the other session migrates, so no timeout may end it. Tried, not waited
-- for: a statement that waits holds a snapshot, and an index that the other builds concurrently waits
-- for all snapshots. An idle transaction holds none.
-- Locks: the migration (advisory, tried).
SELECT pg_try_advisory_xact_lock(20266630, 0),
       (SELECT min(l.pid) FROM pg_locks AS l
         WHERE l.locktype = 'advisory' AND l.classid = 20266630 AND l.granted
           AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())),
       (SELECT count(set_config(s.name, '0', true)) FROM pg_settings AS s
         WHERE s.name IN ('idle_in_transaction_session_timeout', 'transaction_timeout'))
