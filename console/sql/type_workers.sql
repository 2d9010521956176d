-- type_workers: live workers that may fetch one of `queues` and have one of the `declared` handlers, or
-- none if `bare`; the number of all in each row.
SELECT w.id, w.hostname, w.pool, w.started_at, count(*) OVER ()::int
  FROM ojs_worker AS w
 WHERE w.stopped_at IS NULL AND w.dead_at IS NULL AND greatest(w.directive, w.reported) = 0
   AND (w.last_heartbeat_at IS NULL OR w.last_heartbeat_at
        >= now() - %(silence_ms)s::bigint * interval '1 millisecond')
   AND (jsonb_typeof(w.queues) IS DISTINCT FROM 'array' OR w.queues ?| %(queues)s::text[])
   AND (w.declared = ANY (%(declared)s::bigint[])
        OR %(bare)s::boolean AND coalesce(w.declared, 0) = 0)
 ORDER BY w.id LIMIT %(size)s::int
