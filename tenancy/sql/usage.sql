-- usage: how many jobs of tenants wait (available, scheduled), and how many came in their period.
-- Exact, since the caller holds their locks. `wanted` is a JSON array of (tenant, period_ms or null).
-- `opens_at` is when the oldest slot of the period leaves it.
WITH wanted AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(wanted)s::json) AS w (tenant text, period_ms bigint)
), held AS MATERIALIZED (
    SELECT c.tenant, sum(c.jobs) FILTER (WHERE c.state = 3) AS available,
           sum(c.jobs) FILTER (WHERE c.state = 1) AS scheduled
      FROM (SELECT d.tenant, d.state, d.jobs FROM ojs_tenant_depth AS d
             WHERE d.tenant = ANY (ARRAY(SELECT tenant FROM wanted)) AND d.state IN (1, 3)
            UNION ALL
            SELECT e.tenant, s.state, s.n
              FROM ojs_event AS e
             CROSS JOIN LATERAL (VALUES (e.to_state, 1), (e.from_state,
                       -CASE WHEN e.job_id IS NULL THEN (e.data ->> 'count')::int ELSE 1 END)
                       ) AS s (state, n)
             WHERE e.stamp >= coalesce((SELECT p.stamp FROM ojs_fold_position AS p WHERE p.id = 1),
                                       '0')
               AND e.stamp <= '18446744073709551615'  -- a range: see the core's depths.sql
               AND s.state IN (1, 3) AND e.tenant = ANY (ARRAY(SELECT tenant FROM wanted))
           ) AS c GROUP BY c.tenant
)
SELECT w.tenant, coalesce(h.available, 0)::bigint, coalesce(h.scheduled, 0)::bigint, r.came,
       extract(epoch FROM r.opens_at - clock_timestamp())::float8 AS opens_in_s
  FROM wanted AS w LEFT JOIN held AS h ON h.tenant = w.tenant
 CROSS JOIN LATERAL (
       SELECT coalesce(sum(n.jobs), 0)::bigint AS came,
              min(n.at) + w.period_ms * interval '1 millisecond' AS opens_at
         FROM ojs_tenant_enqueued AS n
        WHERE n.tenant = w.tenant
          AND n.at > clock_timestamp() - w.period_ms * interval '1 millisecond') AS r
