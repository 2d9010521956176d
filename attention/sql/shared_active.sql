-- shared_active: count the values that the running jobs of a type, queue or worker share, against other
-- running jobs. With `older_s` only jobs that have run for so long count. Reads at most 2,000 jobs.
WITH job AS MATERIALIZED (
    SELECT (%(type)s::text IS NULL OR j.type = %(type)s::text)
           AND (%(queue)s::text IS NULL OR j.queue = %(queue)s::text)
           AND (%(worker)s::text IS NULL OR l.worker_id = %(worker)s::text)
           AND l.started_at < now() - %(older_s)s::int * interval '1 second' AS is_hit,
           j.type, j.queue, j.tenant, trim(both '"' from j.version) AS version,
           l.worker_id, w.hostname
      FROM (SELECT x.id, x.worker_id, x.started_at FROM ojs_lease AS x
             ORDER BY x.due_at LIMIT 2000) AS l
     CROSS JOIN LATERAL (SELECT x.type, x.queue, x.tenant, x.version FROM ojs_job AS x
                          WHERE x.id = l.id OFFSET 0) AS j
      LEFT JOIN LATERAL (SELECT x.hostname FROM ojs_worker AS x
                          WHERE x.id = l.worker_id OFFSET 0) AS w ON true
), named AS MATERIALIZED (
    SELECT j.is_hit, v.dimension, v.value FROM job AS j
     CROSS JOIN LATERAL (VALUES ('type', j.type), ('queue', j.queue), ('version', j.version),
                                ('worker', j.worker_id), ('host', j.hostname), ('tenant', j.tenant))
                     AS v (dimension, value)
)
SELECT n.dimension, n.value, count(*) FILTER (WHERE n.is_hit)::int,
       (SELECT count(*) FROM job WHERE is_hit)::int, count(*) FILTER (WHERE NOT n.is_hit)::int,
       (SELECT count(*) FROM job WHERE NOT is_hit)::int
  FROM named AS n WHERE n.value IS NOT NULL
 GROUP BY 1, 2 HAVING count(*) FILTER (WHERE n.is_hit) > 0
