-- log_position: the position behind the events that have their lines; no row without one.
SELECT stamp::text, seq FROM ojs_log_position WHERE id = 1
