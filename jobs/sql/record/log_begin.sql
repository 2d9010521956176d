-- log_begin: set the start of the log lines behind all events with a final position, unless a
-- position exists.
INSERT INTO ojs_log_position (id, stamp, seq)
VALUES (1, pg_snapshot_xmin(pg_current_snapshot()), 0) ON CONFLICT (id) DO NOTHING
