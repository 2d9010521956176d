-- namespace_starts: when a job of each of these tenants and queues last started from `since` on.
-- Aggregated starts are counted by the minute, and the end of the minute is returned.
WITH wanted AS MATERIALIZED (
    SELECT * FROM unnest(%(names)s::text[], %(tenants)s::text[], %(queues)s::text[],
                         %(since)s::timestamptz[]) AS w (name, tenant, queue, since)
), fresh AS MATERIALIZED (
    SELECT e.tenant, e.queue, max(e.at) AS at FROM ojs_event AS e
     WHERE e.stamp >= coalesce((SELECT p.stamp FROM ojs_fold_position AS p WHERE p.id = 1), '0')
       AND e.stamp <= '18446744073709551615'  -- a range: see depths.sql
       AND e.kind = 3 AND e.tenant = ANY (%(tenants)s::text[])
     GROUP BY e.tenant, e.queue
)
SELECT w.name, least(now(), greatest(f.at, c.at))
  FROM wanted AS w
  LEFT JOIN fresh AS f ON f.tenant = w.tenant AND f.queue = w.queue
 CROSS JOIN LATERAL (
       SELECT max(p.at) + interval '1 minute' AS at FROM ojs_tenant_period AS p
        WHERE p.tenant = w.tenant AND p.span_s = 60 AND p.at > w.since - interval '1 minute'
          AND p.queue = w.queue AND p.started > 0) AS c
 WHERE coalesce(f.at, c.at) IS NOT NULL
