-- worker_skewed: find live workers whose reported start is later than their last sign of life.
SELECT w.id, NULL::text, NULL::timestamptz, 0::bigint, 0,
       jsonb_build_object('ahead_ms',
           round(extract(epoch FROM w.started_at - w.last_heartbeat_at) * 1000))::text
  FROM ojs_worker AS w
 WHERE w.stopped_at IS NULL AND w.dead_at IS NULL
   AND w.last_heartbeat_at > now() - 10 * %(silence_ms)s::bigint * interval '1 millisecond'
   AND w.started_at > w.last_heartbeat_at + %(skew_ms)s::bigint * interval '1 millisecond'
 ORDER BY w.id LIMIT %(most)s::int
