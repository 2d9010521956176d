-- lanes: the ids of lanes by key, made with their queues where missing; `keys` is a JSON array.
-- `found_in` is the queue in which a claim finds the lane: see models.Lane.
-- Each row has the configuration version; there is at least one row.
-- Runs after lock_lanes.sql in the same transaction, so that no tenant gets a limit in between.
-- Locks: the locks of ojs_make_queues, then new rows only; ON CONFLICT waits for a concurrent maker.
WITH wanted AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(keys)s::json)
        AS k (n int, queue text, priority smallint, tenant text, route int, limits bigint[],
              weight float8, boost smallint, is_ordered boolean, is_timed boolean, scope text,
              found_in text)
), queues AS MATERIALIZED (
    SELECT ojs_make_queues(array_agg(queue)) AS made FROM wanted
), named AS (
    INSERT INTO ojs_lane_key (tenant, queue, priority, route, limits)
    SELECT tenant, queue, priority, route, limits FROM wanted
     ORDER BY tenant, queue, priority, route, limits
    ON CONFLICT (tenant, queue, priority, route, limits) DO NOTHING
    RETURNING id, queue, priority, tenant, route, limits
), made AS (
    INSERT INTO ojs_lane (id, queue, priority, boost, tenant, route, weight, ordered, timed, scope,
                          limits)
    SELECT n.id, k.found_in, n.priority, k.boost, n.tenant, n.route, k.weight, k.is_ordered, k.is_timed,
           k.scope,
           nullif(n.limits || ARRAY(SELECT m.id FROM ojs_limit AS m
                                     WHERE m.kind = 2 AND m.tenant = n.tenant AND m.key = ''), '{}')
      FROM named AS n JOIN wanted AS k USING (queue, priority, tenant, route, limits)
), found AS (
    SELECT k.n, l.id
      FROM wanted AS k
      JOIN (SELECT id, queue, priority, tenant, route, limits FROM named
            UNION ALL SELECT id, queue, priority, tenant, route, limits FROM ojs_lane_key
             WHERE (tenant, queue, priority, route, limits)
                IN (SELECT tenant, queue, priority, route, limits FROM wanted)) AS l
        ON l.queue = k.queue AND l.priority = k.priority AND l.tenant = k.tenant
       AND l.route = k.route AND l.limits = k.limits
)
SELECT f.n, f.id, v.version
  FROM ojs_terms AS v LEFT JOIN found AS f ON true
 WHERE v.id = 1 AND (SELECT made FROM queues) IS NOT NULL
