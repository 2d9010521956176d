-- shared_failed: count the values that failed attempts share, against completed attempts of the same
-- type or queue. Reads the latest 20,000 failed attempts and the latest 20,000 events.
WITH hit AS MATERIALIZED (
    SELECT e.job_id, e.type, e.queue, e.tenant, e.worker_id
      FROM (SELECT x.job_id, x.type, x.queue, x.tenant, x.worker_id FROM ojs_event AS x
             WHERE x.kind = 5 ORDER BY x.stamp DESC, x.seq DESC LIMIT 20000) AS e
     WHERE (%(type)s::text IS NULL OR e.type = %(type)s::text)
       AND (%(queue)s::text IS NULL OR e.queue = %(queue)s::text)
     LIMIT 1000
), rest AS MATERIALIZED (
    SELECT e.job_id, e.type, e.queue, e.tenant, e.worker_id
      FROM (SELECT x.job_id, x.type, x.queue, x.tenant, x.worker_id, x.kind FROM ojs_event AS x
             ORDER BY x.stamp DESC, x.seq DESC LIMIT 20000) AS e
     WHERE e.kind = 4
       AND (%(type)s::text IS NULL OR e.type = %(type)s::text)
       AND (%(queue)s::text IS NULL OR e.queue = %(queue)s::text)
     LIMIT 1000
), both_of AS MATERIALIZED (
    SELECT true AS is_hit, h.* FROM hit AS h UNION ALL SELECT false, r.* FROM rest AS r
), named AS MATERIALIZED (
    SELECT b.is_hit, v.dimension, v.value
      FROM both_of AS b
      LEFT JOIN LATERAL (SELECT trim(both '"' from j.version) AS version FROM ojs_job AS j
                          WHERE j.id = b.job_id OFFSET 0) AS j ON true
      LEFT JOIN LATERAL (SELECT x.hostname FROM ojs_worker AS x
                          WHERE x.id = b.worker_id OFFSET 0) AS w ON true
     CROSS JOIN LATERAL (VALUES ('type', b.type), ('queue', b.queue), ('version', j.version),
                                ('worker', b.worker_id), ('host', w.hostname), ('tenant', b.tenant))
                     AS v (dimension, value)
)
SELECT n.dimension, n.value, count(*) FILTER (WHERE n.is_hit)::int,
       (SELECT count(*) FROM hit)::int, count(*) FILTER (WHERE NOT n.is_hit)::int,
       (SELECT count(*) FROM rest)::int
  FROM named AS n WHERE n.value IS NOT NULL
 GROUP BY 1, 2 HAVING count(*) FILTER (WHERE n.is_hit) > 0
