-- left: the jobs of some version keys by state, in one snapshot, so that no job escapes between two
-- states.
-- It reads at most `looked` lanes of a version key and `most` available jobs of a lane. It also reads
-- at most `looked` jobs of each waiting state (1 scheduled, 2 pending, 5 retryable), since no index
-- leads from a lane to these jobs. In the result, `looked` is the number of lanes, or of jobs of any
-- version key, that were read. Active jobs are read once, as a whole.
WITH lane AS MATERIALIZED (
    SELECT k.id, k.route
      FROM unnest(%(routes)s::int[]) AS r (route)
     CROSS JOIN LATERAL (
           SELECT k.id, k.route FROM ojs_lane_key AS k
            WHERE k.route = r.route AND k.route > 0
            ORDER BY k.route LIMIT %(looked)s::int) AS k
), later AS MATERIALIZED (
    SELECT l.kind, l.lane_id
      FROM unnest('{1,2,5}'::int[]) AS s (kind)
     CROSS JOIN LATERAL (
           SELECT l.kind, l.lane_id FROM ojs_later AS l
            WHERE l.kind = s.kind ORDER BY l.kind, l.id LIMIT %(looked)s::int) AS l
)
SELECT 3 AS state, n.route, sum(z.jobs)::int AS jobs, count(*)::int AS looked
  FROM lane AS n
 CROSS JOIN LATERAL (
       SELECT count(*) AS jobs
         FROM (SELECT 1 FROM ojs_ready AS y WHERE y.lane_id = n.id
                ORDER BY y.lane_id, y.seq LIMIT %(most)s::int) AS counted) AS z
 GROUP BY n.route
 UNION ALL
SELECT 4, n.route, count(*)::int, 0 FROM ojs_lease AS x JOIN lane AS n ON n.id = x.lane_id
 GROUP BY n.route
 UNION ALL
SELECT l.kind, n.route, count(n.id)::int, count(*)::int
  FROM later AS l LEFT JOIN lane AS n ON n.id = l.lane_id
 GROUP BY l.kind, n.route
