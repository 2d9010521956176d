-- folded: mark all events as aggregated.
DELETE FROM ojs_fold_position;
INSERT INTO ojs_fold_position (id, stamp) VALUES (1, pg_snapshot_xmax(pg_current_snapshot()))
