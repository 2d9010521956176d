-- reset: forget everything but keys; exists for conformance runs (OJS_ALLOW_RESET).
TRUNCATE ojs_job, ojs_ready, ojs_lease, ojs_later, ojs_finished, ojs_event, ojs_worker,
         ojs_progress, ojs_depth, ojs_total, ojs_minute, ojs_duration, ojs_lane, ojs_queue
