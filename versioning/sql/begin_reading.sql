-- begin_reading: lock the reader of outcomes, placed at the end of the record where there is none yet.
-- A statement of its own: the one that reads has to see what whoever held the lock has done.
INSERT INTO ojs_version_reader AS r (id, stamp)
VALUES (1, pg_snapshot_xmin(pg_current_snapshot()))
ON CONFLICT (id) DO UPDATE SET stamp = r.stamp
