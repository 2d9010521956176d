-- overdue: leases that ended and executions that ran too long, at most `batch`. A plain read:
-- fail.sql guards the change by the attempt. The execution timeout wins a tie.
--
-- A bound on an index has to be stable: with clock_timestamp() it would read every lease.
SELECT l.id, l.attempt, l.worker_id, l.watched, j.timeout_ms, j.max_attempts,
       j.attributes -> 'retry' AS retry, coalesce(j.errors, '[]') AS errors,
       (extract(epoch FROM clock_timestamp() - l.started_at) * 1000)::bigint AS elapsed_ms,
       CASE WHEN l.timeout_at <= statement_timestamp() AND l.timeout_at <= l.lease_until
            THEN 'timeout' ELSE 'visibility_timeout' END AS reason
  FROM (SELECT * FROM ojs_lease WHERE due_at <= statement_timestamp()
         ORDER BY due_at LIMIT %(batch)s::int) AS l
  JOIN ojs_job AS j ON j.id = l.id
