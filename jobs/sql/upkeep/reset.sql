-- reset: delete all jobs, queues, workers, events, counts and policies; exists for conformance runs
-- (OJS_ALLOW_RESET). API keys, staff, loops, the configuration version and the position of the
-- aggregation stay.
TRUNCATE ojs_job, ojs_ready, ojs_lease, ojs_later, ojs_finished, ojs_unique, ojs_bulk_answer,
         ojs_undo, ojs_undo_job, ojs_config_change, ojs_event, ojs_log_position, ojs_worker,
         ojs_progress, ojs_depth, ojs_queue_size, ojs_total, ojs_period, ojs_duration, ojs_lane,
         ojs_lane_key, ojs_queue, ojs_queue_template, ojs_limit, ojs_limit_wait, ojs_tally, ojs_hold,
         ojs_start, ojs_archived_job, ojs_result_expiry, ojs_awaited,
         ojs_latency, ojs_tenant_depth, ojs_tenant_period, ojs_replay, ojs_replay_rule,
         ojs_maintenance, ojs_login_window, ojs_turn, ojs_dispatch, ojs_dispatch_period, ojs_charge,
         ojs_debt, ojs_served, ojs_tenant_label, ojs_objective_period, ojs_objective_total,
         ojs_move, ojs_moving_job
