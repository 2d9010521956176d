-- limit_loads: for every limit, its active jobs and the available jobs in lanes that name it, up to
-- `most` of a lane. Limits of tenants are left out. The waiting jobs of a limited queue are its depth.
WITH counted AS MATERIALIZED (
    SELECT h.limit_id AS id, count(*) AS active, 0 AS waiting FROM ojs_hold AS h GROUP BY 1
    UNION ALL
    SELECT u.id, 0, w.jobs
      FROM ojs_lane AS l
     CROSS JOIN LATERAL (
           SELECT count(*) AS jobs FROM (
               SELECT 1 FROM ojs_ready AS r WHERE r.lane_id = l.id
                ORDER BY r.lane_id, r.seq LIMIT %(most)s::int) AS z) AS w
     CROSS JOIN LATERAL unnest(l.limits) AS u (id)
     WHERE l.limits IS NOT NULL AND l.active
    UNION ALL
    SELECT z.id, 0, 0 FROM ojs_limit AS z
)
SELECT m.kind, m.key, sum(c.active)::bigint AS active, sum(c.waiting)::bigint AS waiting
  FROM counted AS c JOIN ojs_limit AS m ON m.id = c.id
 WHERE m.kind <> 2
 GROUP BY m.kind, m.key ORDER BY m.kind, m.key
