-- clear: remove all jobs, keep queues, lanes and keys.
TRUNCATE ojs_job, ojs_ready, ojs_lease, ojs_later, ojs_finished, ojs_unique, ojs_event, ojs_progress,
         ojs_depth, ojs_queue_size, ojs_limit_wait, ojs_tally, ojs_total, ojs_period, ojs_duration;
UPDATE ojs_lane SET active = false, vt = 0;
