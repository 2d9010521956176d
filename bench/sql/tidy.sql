-- tidy: remove the rows that the storing paths stored since `marker`; ids rise with time.
DELETE FROM ojs_job WHERE id >= '{marker}' AND queue IN ('bench-in', 'bench-bare', 'bench-grouped');
DELETE FROM ojs_unique WHERE job_id >= '{marker}';
DELETE FROM ojs_ready AS r USING ojs_lane AS l WHERE l.id = r.lane_id AND l.queue IN ('bench-in', 'bench-grouped');
DELETE FROM ojs_lease AS r USING ojs_lane AS l WHERE l.id = r.lane_id AND l.queue = 'bench-grouped';
DELETE FROM ojs_finished WHERE queue = 'bench-grouped';
DELETE FROM ojs_event WHERE queue IN ('bench-in', 'bench-grouped');
DELETE FROM ojs_workflow WHERE id >= '{marker}';
DELETE FROM ojs_workflow_step WHERE workflow_id >= '{marker}';
DELETE FROM ojs_workflow_slot WHERE workflow_id >= '{marker}';
