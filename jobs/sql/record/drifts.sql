-- drifts: the drift of ojs_depth and ojs_tenant_depth: counts plus unaggregated events minus live jobs.
-- One snapshot sees jobs, counts and events, so concurrent work causes no drift. Ended jobs are history,
-- and are not read.
-- `tenant` null: of the queue. Reads the narrow rows of all live jobs, by lane.
-- Locks: none.
WITH live AS MATERIALIZED (
    SELECT r.lane_id, 3 AS state, count(*) AS jobs FROM ojs_ready AS r GROUP BY 1
    UNION ALL
    SELECT x.lane_id, 4, count(*) FROM ojs_lease AS x GROUP BY 1
    UNION ALL
    SELECT w.lane_id, w.kind, count(*) FROM ojs_later AS w GROUP BY 1, 2
), known AS MATERIALIZED (
    SELECT c.tenant, c.queue, c.state, sum(c.jobs) AS jobs FROM (
        SELECT k.tenant, k.queue, v.state, -v.jobs AS jobs
          FROM live AS v
         CROSS JOIN LATERAL (SELECT k.tenant, k.queue FROM ojs_lane_key AS k
                              WHERE k.id = v.lane_id OFFSET 0) AS k
        UNION ALL
        SELECT e.tenant, e.queue, s.state, s.n
          FROM ojs_event AS e
         CROSS JOIN LATERAL (VALUES (e.to_state, 1), (e.from_state, -1)) AS s (state, n)
         WHERE e.stamp >= coalesce((SELECT p.stamp FROM ojs_fold_position AS p WHERE p.id = 1), '0')
           AND e.stamp <= '18446744073709551615'  -- a range: see depths.sql
           AND e.job_id IS NOT NULL AND s.state <= 5
    ) AS c GROUP BY 1, 2, 3
)
SELECT NULL::text AS tenant, c.queue, c.state, sum(c.jobs)::bigint AS excess
  FROM (SELECT d.queue, d.state, d.jobs FROM ojs_depth AS d WHERE d.state <= 5
        UNION ALL
        SELECT o.queue, o.state, o.jobs FROM known AS o) AS c
 GROUP BY 2, 3 HAVING sum(c.jobs) <> 0
UNION ALL
SELECT c.tenant, c.queue, c.state, sum(c.jobs)::bigint
  FROM (SELECT d.tenant, d.queue, d.state, d.jobs FROM ojs_tenant_depth AS d WHERE d.state <= 5
        UNION ALL
        SELECT o.tenant, o.queue, o.state, o.jobs FROM known AS o) AS c
 GROUP BY 1, 2, 3 HAVING sum(c.jobs) <> 0
 ORDER BY 1 NULLS FIRST, 2, 3
