-- tenants_of_queue: the tenants with the most jobs of a queue, with their jobs by state, exact as in
-- depths.sql of the core, and the number of all such tenants.
WITH part AS MATERIALIZED (
    SELECT d.tenant, d.state, d.jobs FROM ojs_tenant_depth AS d WHERE d.queue = %(queue)s
    UNION ALL
    SELECT e.tenant, s.state, s.n
      FROM ojs_event AS e
     CROSS JOIN LATERAL (VALUES (e.to_state, 1),
               (e.from_state, -CASE WHEN e.job_id IS NULL THEN (e.data ->> 'count')::int ELSE 1 END)
               ) AS s (state, n)
     WHERE e.stamp >= coalesce((SELECT p.stamp FROM ojs_fold_position AS p WHERE p.id = 1), '0')
       AND e.stamp <= '18446744073709551615'  -- a range: see depths.sql of the core
       AND s.state IS NOT NULL AND e.queue = %(queue)s
), held AS MATERIALIZED (
    SELECT p.tenant, p.state, sum(p.jobs)::bigint AS jobs
      FROM part AS p WHERE p.tenant IS NOT NULL
     GROUP BY p.tenant, p.state HAVING sum(p.jobs) > 0
), most AS MATERIALIZED (
    SELECT h.tenant, sum(h.jobs) AS jobs, count(*) OVER () AS tenants
      FROM held AS h GROUP BY h.tenant ORDER BY 2 DESC, 1 LIMIT %(size)s::int
)
SELECT m.tenant, h.state, h.jobs, m.tenants
  FROM most AS m JOIN held AS h USING (tenant) ORDER BY m.jobs DESC, m.tenant
