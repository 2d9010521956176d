-- namespaces: the next `most` queues of namespaces, `tenant:queue`, that have an offered lane, by name.
-- It steps from each such queue to the next one by an index of such queues alone (ojs_lane_apart).
WITH RECURSIVE stepped AS (
    (SELECT l.queue FROM ojs_lane AS l
      WHERE l.queue > %(after)s::text AND strpos(l.queue, ':') > 0
        AND ojs_offered(l.active, l.blocked_by, l.paused)
      ORDER BY l.queue LIMIT 1)
    UNION ALL
    SELECT (SELECT l.queue FROM ojs_lane AS l
             WHERE l.queue > s.queue AND strpos(l.queue, ':') > 0
               AND ojs_offered(l.active, l.blocked_by, l.paused)
             ORDER BY l.queue LIMIT 1)
      FROM stepped AS s WHERE s.queue IS NOT NULL
)
SELECT s.queue FROM stepped AS s WHERE s.queue IS NOT NULL LIMIT %(most)s::int
