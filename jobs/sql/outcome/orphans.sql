-- orphans: jobs still held by dead workers, at most `batch`; fail.sql guards the change later.
-- A lease that is younger than `silence_ms` is left out: the claim was a sign of life, stored or not.
-- Locks: the workers, SKIP LOCKED, until the jobs are returned: a heartbeat comes before or after that.
SELECT l.id, l.attempt, l.worker_id, l.watched, j.timeout_ms, j.max_attempts,
       j.attributes -> 'retry' AS retry, coalesce(j.errors, '[]') AS errors,
       (extract(epoch FROM clock_timestamp() - l.started_at) * 1000)::bigint AS elapsed_ms,
       'worker_death' AS reason
  FROM ojs_worker AS w
 CROSS JOIN LATERAL (  -- by worker, for any estimate of the number of leases
       SELECT x.* FROM ojs_lease AS x
        WHERE x.worker_id = w.id
          AND x.started_at < now() - %(silence_ms)s::bigint * interval '1 millisecond' OFFSET 0) AS l
  JOIN ojs_job AS j ON j.id = l.id
 WHERE w.dead_at > now() - interval '1 day'
 LIMIT %(batch)s::int FOR NO KEY UPDATE OF w SKIP LOCKED
