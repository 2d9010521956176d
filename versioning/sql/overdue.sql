-- overdue: in which queues jobs of some version keys have waited for `after_ms` (by position of
-- `routes`).
-- It reads the first job of each of up to `lanes` lanes of a version key.
SELECT DISTINCT r.route, x.queue
  FROM unnest(%(routes)s::int[], %(after_ms)s::bigint[]) AS r (route, after_ms)
 CROSS JOIN LATERAL (
       SELECT k.queue, z.enqueued_at
         FROM (SELECT k.id, k.queue FROM ojs_lane_key AS k
                WHERE k.route = r.route AND k.route > 0
                ORDER BY k.route LIMIT %(lanes)s::int) AS k
        CROSS JOIN LATERAL (SELECT y.enqueued_at FROM ojs_ready AS y WHERE y.lane_id = k.id
                             ORDER BY y.lane_id, y.seq LIMIT 1) AS z) AS x
 WHERE x.enqueued_at <= now() - r.after_ms * interval '1 millisecond'
 ORDER BY r.route, x.queue
