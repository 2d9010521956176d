-- namespaces: the next `most` queues of namespaces, `tenant:queue`, that have a lane to offer, by name.
-- It steps from each such queue to the next one by the index, and over those of no namespace.
WITH RECURSIVE stepped AS (
    (SELECT l.queue FROM ojs_lane AS l
      WHERE l.queue > %(after)s::text AND ojs_offered(l.active, l.blocked_by, l.paused)
      ORDER BY l.queue, l.rank, l.vt LIMIT 1)
    UNION ALL
    SELECT (SELECT l.queue FROM ojs_lane AS l
             WHERE l.queue > s.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
             ORDER BY l.queue, l.rank, l.vt LIMIT 1)
      FROM stepped AS s WHERE s.queue IS NOT NULL
)
SELECT s.queue FROM stepped AS s WHERE strpos(s.queue, ':') > 0 LIMIT %(most)s::int
