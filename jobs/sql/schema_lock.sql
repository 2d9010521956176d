-- schema_lock: try to be the one who migrates, until the session ends; if another is, who.
-- Tried, not waited for: a statement that waits holds a snapshot, and an index that the other builds
-- concurrently waits for all snapshots.
-- Locks: the migration (advisory, tried).
SELECT pg_try_advisory_lock(20266630, 0),
       (SELECT min(l.pid) FROM pg_locks AS l
         WHERE l.locktype = 'advisory' AND l.classid = 20266630 AND l.granted
           AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
