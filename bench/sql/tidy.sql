-- tidy: take back what the enqueue paths stored since `marker`; ids rise with time.
DELETE FROM ojs_job WHERE id >= '{marker}' AND queue IN ('bench-in', 'bench-bare');
DELETE FROM ojs_ready AS r USING ojs_lane AS l WHERE l.id = r.lane_id AND l.queue = 'bench-in';
DELETE FROM ojs_event WHERE queue = 'bench-in';
