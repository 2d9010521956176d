-- override_limit: apply another policy to a limit until a time, or (null) its own again.
-- Locks: the limit's row; then the lanes it blocked, in id order: it may have room now.
WITH stored AS (
    UPDATE ojs_limit AS m
       SET override = %(policy)s::jsonb, override_until = %(until)s::timestamptz,
           slot_ms = least(m.slot_ms, %(slot_ms)s::bigint), updated_at = now()
     WHERE m.id = %(id)s::bigint
    RETURNING m.id, m.key, m.tenant
), told AS (
    INSERT INTO ojs_event (at, kind, tenant, data)
    SELECT now(), 77, nullif(tenant, '*'),
           jsonb_strip_nulls(jsonb_build_object('key', key, 'override', %(policy)s::jsonb))
      FROM stored
)
UPDATE ojs_lane AS l SET blocked_by = NULL, blocked_until = NULL
  FROM (SELECT b.id FROM ojs_lane AS b WHERE b.blocked_by = %(id)s::bigint
         ORDER BY b.id FOR NO KEY UPDATE) AS s
 WHERE l.id = s.id
RETURNING l.id
