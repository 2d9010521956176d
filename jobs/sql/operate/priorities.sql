-- priorities: available jobs of a queue by priority; at most `most` are counted per lane and
-- `looked` in all.
SELECT c.priority, count(*)::int FROM (
    SELECT l.priority FROM ojs_lane AS l
     CROSS JOIN LATERAL (SELECT 1 FROM ojs_ready AS r WHERE r.lane_id = l.id
                          ORDER BY r.lane_id, r.seq LIMIT %(most)s::int) AS r
     WHERE ojs_queue_of(l.queue) = %(queue)s::text AND l.active
       AND (%(tenant)s::text IS NULL OR l.tenant = %(tenant)s::text)
     LIMIT %(looked)s::int) AS c
 GROUP BY c.priority ORDER BY c.priority DESC
