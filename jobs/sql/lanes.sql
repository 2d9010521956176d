-- lanes: the ids of lanes by key, made with their queues where missing; `keys` is a JSON array.
-- Locks: new rows only; ON CONFLICT waits for a concurrent maker.
WITH wanted AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(keys)s::json)
        AS k (n int, queue text, priority smallint, tenant text, route int, weight float8, cap int)
), queues AS (
    INSERT INTO ojs_queue (name) SELECT DISTINCT queue FROM wanted ORDER BY queue
    ON CONFLICT DO NOTHING
), made AS (
    INSERT INTO ojs_lane (queue, priority, tenant, route, weight, cap)
    SELECT queue, priority, tenant, route, weight, cap FROM wanted
     ORDER BY tenant, queue, priority, route
    ON CONFLICT (tenant, queue, priority, route) DO NOTHING
    RETURNING id, queue, priority, tenant, route
)
SELECT k.n, l.id
  FROM wanted AS k
  JOIN (SELECT id, queue, priority, tenant, route FROM made
        UNION ALL SELECT id, queue, priority, tenant, route FROM ojs_lane
         WHERE (tenant, queue, priority, route)
            IN (SELECT tenant, queue, priority, route FROM wanted)) AS l
    ON l.queue = k.queue AND l.priority = k.priority AND l.tenant = k.tenant AND l.route = k.route
