-- queues: in how many queues tenants have live jobs, and in which of the queues that new jobs go to.
-- Exact, since the caller holds their locks. `wanted` is a JSON array of (tenant, queues).
WITH wanted AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(wanted)s::json) AS w (tenant text, queues text[])
), held AS MATERIALIZED (
    SELECT c.tenant, c.queue
      FROM (SELECT d.tenant, d.queue, d.jobs FROM ojs_tenant_depth AS d
             WHERE d.tenant = ANY (ARRAY(SELECT tenant FROM wanted)) AND d.state <= 5
            UNION ALL
            SELECT e.tenant, e.queue, s.n
              FROM ojs_event AS e
             CROSS JOIN LATERAL (VALUES (e.to_state, 1), (e.from_state,
                       -CASE WHEN e.job_id IS NULL THEN (e.data ->> 'count')::int ELSE 1 END)
                       ) AS s (state, n)
             WHERE e.stamp >= coalesce((SELECT p.stamp FROM ojs_fold_position AS p WHERE p.id = 1),
                                       '0')
               AND e.stamp <= '18446744073709551615'  -- a range: see the core's depths.sql
               AND s.state <= 5 AND e.tenant = ANY (ARRAY(SELECT tenant FROM wanted))
           ) AS c GROUP BY c.tenant, c.queue HAVING sum(c.jobs) > 0
)
SELECT w.tenant, count(h.queue)::int,
       coalesce(array_agg(h.queue) FILTER (WHERE h.queue = ANY (w.queues)), '{}')
  FROM wanted AS w LEFT JOIN held AS h ON h.tenant = w.tenant
 GROUP BY w.tenant
