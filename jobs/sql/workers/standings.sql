-- standings: the number of workers by standing; parameters as in workers.sql.
SELECT CASE WHEN w.stopped_at IS NOT NULL THEN 'terminate'
            WHEN w.dead_at IS NOT NULL OR w.last_heartbeat_at
                 < now() - %(silence_ms)s::bigint * interval '1 millisecond' THEN 'stale'
            WHEN greatest(w.reported, w.directive) = 2 THEN 'terminate'
            WHEN greatest(w.reported, w.directive) = 1 THEN 'quiet'
            ELSE 'running' END AS standing, count(*)::int
  FROM ojs_worker AS w
 WHERE (%(with_ended)s::boolean OR w.stopped_at IS NULL AND w.dead_at IS NULL)
   AND (%(pool)s::text IS NULL OR w.pool = %(pool)s::text)
   AND (%(tenant)s::text IS NULL OR w.tenant = %(tenant)s::text)
 GROUP BY 1
