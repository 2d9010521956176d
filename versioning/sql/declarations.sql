-- declarations: the declared handlers of live workers, with their number, by queue that they may
-- fetch.
-- A worker that only FETCHes may be dead and counts as `unheard`. Null among `queues`: any queue. A
-- worker that does not name its queues may fetch any queue.
SELECT q.name, min(w.declared) AS declared, d.handled::text AS declaration,
       count(*) FILTER (WHERE w.last_heartbeat_at IS NOT NULL) AS workers,
       count(*) FILTER (WHERE w.last_heartbeat_at IS NULL) AS unheard
  FROM unnest(%(queues)s::text[]) AS q (name)
  JOIN ojs_worker AS w
    ON q.name IS NULL OR jsonb_typeof(w.queues) IS DISTINCT FROM 'array' OR w.queues ? q.name
 CROSS JOIN LATERAL (SELECT CASE WHEN jsonb_typeof(w.declaration) = 'object'
                                 THEN w.declaration - 'turns' ELSE '{}' END AS handled) AS d
 WHERE w.stopped_at IS NULL AND w.dead_at IS NULL AND greatest(w.directive, w.reported) = 0
   AND (w.last_heartbeat_at IS NULL OR w.last_heartbeat_at
        >= now() - %(silence_ms)s::bigint * interval '1 millisecond')
 GROUP BY 1, d.handled ORDER BY 1, 2, 3
