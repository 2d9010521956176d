-- next_due: in how many milliseconds the next scheduled or retryable job is due; no row if none waits,
-- and during maintenance.
SELECT (extract(epoch FROM due_at - clock_timestamp()) * 1000)::bigint
  FROM ojs_later
 WHERE due_at IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM ojs_maintenance AS m WHERE ojs_in_force(m.ends_at))
 ORDER BY due_at LIMIT 1
