-- tenant_depths: a tenant's jobs per queue and state, exact as in depths.sql.
SELECT queue, state, sum(jobs)::bigint AS jobs FROM (
    SELECT d.queue, d.state, d.jobs FROM ojs_tenant_depth AS d WHERE d.tenant = %(tenant)s::text
    UNION ALL
    SELECT e.queue, s.state, s.n
      FROM ojs_event AS e
     CROSS JOIN LATERAL (VALUES (e.to_state, 1),
               (e.from_state, -CASE WHEN e.job_id IS NULL THEN (e.data ->> 'count')::int ELSE 1 END)
               ) AS s (state, n)
     WHERE e.stamp >= coalesce((SELECT p.stamp FROM ojs_fold_position AS p WHERE p.id = 1), '0')
       AND e.stamp <= '18446744073709551615'  -- a range: without an upper bound the planner expects 1/3
       AND s.state IS NOT NULL AND e.tenant = %(tenant)s::text
) AS c GROUP BY queue, state
