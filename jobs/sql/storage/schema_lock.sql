-- schema_lock: try to take the lock of migrations until the transaction ends; otherwise return its
-- holder.
-- The transaction is idle while the other session migrates, so no timeout may end it. The lock is tried,
-- not waited for: a waiting statement holds a snapshot, and a concurrent index build of the holder waits
-- for all snapshots. An idle transaction holds none.
-- Locks: the migration (advisory, tried).
SELECT pg_try_advisory_xact_lock(20266630, 0),
       (SELECT min(l.pid) FROM pg_locks AS l
         WHERE l.locktype = 'advisory' AND l.classid = 20266630 AND l.granted
           AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())),
       (SELECT count(set_config(s.name, '0', true)) FROM pg_settings AS s
         WHERE s.name IN ('idle_in_transaction_session_timeout', 'transaction_timeout'))
