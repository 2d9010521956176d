-- shared_waiting: count the values that the available jobs of a queue, type or tenant share, against
-- other available jobs. Reads at most 4,000 available jobs.
WITH ready AS MATERIALIZED (
    SELECT r.id FROM ojs_lane AS l
     CROSS JOIN LATERAL (SELECT x.id FROM ojs_ready AS x
                          WHERE x.lane_id = l.id AND x.seq >= l.low - 128
                          ORDER BY x.lane_id, x.seq LIMIT 200) AS r
     WHERE l.active AND (%(queue)s::text IS NULL OR ojs_queue_of(l.queue) = %(queue)s::text)
       AND (%(tenant)s::text IS NULL OR l.tenant = %(tenant)s::text)
     LIMIT 2000
), others AS MATERIALIZED (
    SELECT r.id FROM (SELECT x.id FROM ojs_ready AS x ORDER BY x.id DESC LIMIT 2000) AS r
), job AS MATERIALIZED (
    SELECT (%(queue)s::text IS NULL OR j.queue = %(queue)s::text)
           AND (%(type)s::text IS NULL OR j.type = %(type)s::text)
           AND (%(tenant)s::text IS NULL OR j.tenant = %(tenant)s::text) AS is_hit,
           j.type, j.queue, j.tenant, trim(both '"' from j.version) AS version
      FROM (SELECT id FROM ready UNION SELECT id FROM others) AS r
     CROSS JOIN LATERAL (SELECT x.type, x.queue, x.tenant, x.version FROM ojs_job AS x
                          WHERE x.id = r.id OFFSET 0) AS j
), named AS MATERIALIZED (
    SELECT j.is_hit, v.dimension, v.value FROM job AS j
     CROSS JOIN LATERAL (VALUES ('type', j.type), ('queue', j.queue), ('version', j.version),
                                ('tenant', j.tenant)) AS v (dimension, value)
)
SELECT n.dimension, n.value, count(*) FILTER (WHERE n.is_hit)::int,
       (SELECT count(*) FROM job WHERE is_hit)::int, count(*) FILTER (WHERE NOT n.is_hit)::int,
       (SELECT count(*) FROM job WHERE NOT is_hit)::int
  FROM named AS n WHERE n.value IS NOT NULL
 GROUP BY 1, 2 HAVING count(*) FILTER (WHERE n.is_hit) > 0
