-- begin_reading: lock the reader of outcomes; create it at the end of the record if there is none yet.
-- This is a statement of its own, because the reading statement must see the changes of the process
-- that held the lock before.
INSERT INTO ojs_version_reader AS r (id, stamp)
VALUES (1, pg_snapshot_xmin(pg_current_snapshot()))
ON CONFLICT (id) DO UPDATE SET stamp = r.stamp
