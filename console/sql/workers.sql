-- workers: those seen lately or holding jobs, by name, with the number of jobs each holds.
SELECT w.id, w.hostname, w.pid, w.queues::text AS queues, w.concurrency, w.pool, w.reported,
       w.directive, w.started_at, w.last_heartbeat_at, w.dead_at, w.stopped_at,
       (SELECT count(*) FROM ojs_lease AS l WHERE l.worker_id = w.id) AS active,
       w.last_heartbeat_at < now() - %(silence_ms)s::bigint * interval '1 millisecond' AS is_silent
  FROM ojs_worker AS w
 WHERE %(with_ended)s::boolean OR w.stopped_at IS NULL AND w.dead_at IS NULL
 ORDER BY w.stopped_at IS NOT NULL, w.dead_at IS NOT NULL, w.id LIMIT %(size)s::int
