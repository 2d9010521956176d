-- backlogs: since when the longest waiting available job of each of these queues waits, by the heads of
-- their lanes: one look for each lane that has jobs.
SELECT ojs_queue_of(l.queue), min(head.enqueued_at)
  FROM ojs_lane AS l
 CROSS JOIN LATERAL (
       SELECT r.enqueued_at FROM ojs_ready AS r
        WHERE r.lane_id = l.id AND r.seq >= l.low ORDER BY r.lane_id, r.seq LIMIT 1) AS head
 WHERE l.active AND ojs_queue_of(l.queue) = ANY (%(queues)s::text[])
   AND (%(tenant)s::text IS NULL OR l.tenant = %(tenant)s::text)
 GROUP BY 1
