-- label_depths: jobs by tenant label of metrics, queue and state; exact as in depths.sql. Tenants
-- without a label are the total minus the labelled tenants, so that only the latter are read.
WITH named AS MATERIALIZED (
    SELECT l.tenant FROM ojs_tenant_label AS l WHERE l.place <= %(most)s::int
), fresh AS MATERIALIZED (
    SELECT e.tenant, e.queue, s.state, sum(s.n) AS jobs
      FROM ojs_event AS e
     CROSS JOIN LATERAL (VALUES (e.to_state, 1),
               (e.from_state, -CASE WHEN e.job_id IS NULL THEN (e.data ->> 'count')::int ELSE 1 END)
               ) AS s (state, n)
     WHERE e.stamp >= coalesce((SELECT p.stamp FROM ojs_fold_position AS p WHERE p.id = 1), '0')
       AND e.stamp <= '18446744073709551615'  -- a range: see depths.sql
       AND s.state IS NOT NULL
     GROUP BY 1, 2, 3
), own AS MATERIALIZED (
    SELECT c.tenant, c.queue, c.state, sum(c.jobs) AS jobs
      FROM (SELECT d.tenant, d.queue, d.state, d.jobs
              FROM named AS n
             CROSS JOIN LATERAL (SELECT d.* FROM ojs_tenant_depth AS d
                                  WHERE d.tenant = n.tenant OFFSET 0) AS d
            UNION ALL
            SELECT f.tenant, f.queue, f.state, f.jobs FROM fresh AS f JOIN named AS n USING (tenant)
           ) AS c GROUP BY 1, 2, 3
), rest AS (
    SELECT c.queue, c.state, sum(c.jobs) AS jobs
      FROM (SELECT d.queue, d.state, d.jobs FROM ojs_depth AS d
            UNION ALL
            SELECT f.queue, f.state, f.jobs FROM fresh AS f
            UNION ALL
            SELECT o.queue, o.state, -o.jobs FROM own AS o) AS c GROUP BY 1, 2
)
SELECT o.tenant, o.queue, o.state, o.jobs::bigint FROM own AS o
UNION ALL
SELECT '_other', r.queue, r.state, r.jobs::bigint FROM rest AS r WHERE r.jobs > 0
 ORDER BY 1, 2, 3
