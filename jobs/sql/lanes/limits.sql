-- limits: the ids of limits by kind, tenant and key, made or given a new policy where it differs.
-- `limits` is one JSON array. A limit whose policy changed may have room, so its lanes are unblocked.
-- Locks: the limits' rows, in key order; then the lanes they blocked, in id order.
WITH wanted AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(limits)s::json)
        AS k (n int, kind smallint, tenant text, key text, policy jsonb, slot_ms bigint)
), stored AS (
    INSERT INTO ojs_limit AS m (kind, tenant, key, policy, slot_ms)
    SELECT kind, tenant, key, policy, slot_ms FROM wanted ORDER BY kind, tenant, key
    ON CONFLICT (kind, tenant, key) DO UPDATE
       SET policy = excluded.policy, slot_ms = least(m.slot_ms, excluded.slot_ms),
           updated_at = now()
     WHERE m.policy IS DISTINCT FROM excluded.policy
    RETURNING m.id, m.kind, m.tenant, m.key
), opened AS (
    UPDATE ojs_lane AS l SET blocked_by = NULL, blocked_until = NULL
      FROM (SELECT b.id FROM ojs_lane AS b
             WHERE b.blocked_by = ANY (ARRAY(SELECT id FROM stored))
             ORDER BY b.id FOR NO KEY UPDATE) AS s
     WHERE l.id = s.id
)
SELECT k.n, l.id
  FROM wanted AS k
 CROSS JOIN LATERAL (  -- limited, or the planner may read the whole table
       SELECT id FROM stored AS s
        WHERE s.kind = k.kind AND s.tenant = k.tenant AND s.key = k.key
       UNION ALL
       SELECT id FROM ojs_limit AS m
        WHERE m.kind = k.kind AND m.tenant = k.tenant AND m.key = k.key
       LIMIT 1) AS l
