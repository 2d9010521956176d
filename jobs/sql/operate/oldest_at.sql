-- oldest_at: since when the longest waiting available job of queues waits, by its lanes' heads. Returned
-- jobs wait since their return and come before older jobs: a hundred jobs of such a lane are read.
SELECT ojs_queue_of(l.queue), min(r.enqueued_at)
  FROM ojs_lane AS l
 CROSS JOIN LATERAL (SELECT r.enqueued_at FROM ojs_ready AS r
                      WHERE r.lane_id = l.id AND r.seq >= l.low - 128
                      ORDER BY r.lane_id, r.seq
                      LIMIT CASE WHEN l.returned IS NULL THEN 1 ELSE 100 END) AS r
 WHERE ojs_queue_of(l.queue) = ANY (%(queues)s::text[]) AND l.active
   AND (%(tenant)s::text IS NULL OR l.tenant = %(tenant)s::text)
 GROUP BY 1
