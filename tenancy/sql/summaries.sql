-- summaries: jobs of tenants by state, exact as in the core's depths. Each row also has the tenant's
-- number of queues, of queues with live jobs, and of workers that run a job. One row for each tenant
-- and state that has jobs.
WITH held AS MATERIALIZED (
    SELECT c.tenant, c.queue, c.state, sum(c.jobs) AS jobs
      FROM (SELECT d.tenant, d.queue, d.state, d.jobs FROM ojs_tenant_depth AS d
             WHERE d.tenant = ANY (%(tenants)s::text[])
            UNION ALL
            SELECT e.tenant, e.queue, s.state, s.n
              FROM ojs_event AS e
             CROSS JOIN LATERAL (VALUES (e.to_state, 1), (e.from_state,
                       -CASE WHEN e.job_id IS NULL THEN (e.data ->> 'count')::int ELSE 1 END)
                       ) AS s (state, n)
             WHERE e.stamp >= coalesce((SELECT p.stamp FROM ojs_fold_position AS p WHERE p.id = 1),
                                       '0')
               AND e.stamp <= '18446744073709551615'  -- a range: see the core's depths.sql
               AND s.state IS NOT NULL AND e.tenant = ANY (%(tenants)s::text[])
           ) AS c GROUP BY 1, 2, 3 HAVING sum(c.jobs) > 0
), worked AS MATERIALIZED (
    SELECT l.tenant, count(DISTINCT l.worker_id) AS workers FROM ojs_lease AS l
     WHERE l.tenant = ANY (%(tenants)s::text[]) GROUP BY 1
), spread AS (  -- once for each tenant, not for each of its states
    SELECT tenant, count(DISTINCT queue) AS queues,
           count(DISTINCT queue) FILTER (WHERE state <= 5) AS unended
      FROM held GROUP BY tenant
)
SELECT h.tenant, h.state::int, h.jobs::bigint, s.queues::int, coalesce(w.workers, 0)::int,
       s.unended::int
  FROM (SELECT tenant, state, sum(jobs) AS jobs FROM held GROUP BY 1, 2) AS h
  JOIN spread AS s ON s.tenant = h.tenant
  LEFT JOIN worked AS w ON w.tenant = h.tenant
