-- maintain: switch maintenance on or off, or change its reason and end; an event when it changed.
-- Locks: the one row. `stored` and `gone` refer to `before`, so it is read first: a row that this
-- statement has changed already could not be locked any more.
WITH before AS MATERIALIZED (
    SELECT ojs_in_force(m.ends_at) AS is_on FROM ojs_maintenance AS m
     WHERE m.id = 1 FOR UPDATE
), stored AS (
    INSERT INTO ojs_maintenance AS m (id, started_at, ends_at, reason, actor)
    SELECT 1, now(), now() + %(duration_ms)s::bigint * interval '1 millisecond', %(reason)s::text,
           %(actor)s::text
     WHERE %(enabled)s::boolean AND (SELECT count(*) FROM before) >= 0
    ON CONFLICT (id) DO UPDATE
       SET started_at = CASE WHEN m.ends_at <= now() THEN now() ELSE m.started_at END,
           ends_at = excluded.ends_at, reason = excluded.reason, actor = excluded.actor
    RETURNING m.started_at, m.ends_at, m.reason
), gone AS (
    DELETE FROM ojs_maintenance AS m
     WHERE m.id = 1 AND NOT %(enabled)s::boolean AND (SELECT count(*) FROM before) >= 0
), told AS (
    INSERT INTO ojs_event (at, kind, data)
    SELECT now(), CASE WHEN %(enabled)s::boolean THEN 84 ELSE 85 END,
           jsonb_strip_nulls(jsonb_build_object('actor', %(actor)s::text,
                                                'reason', %(reason)s::text))
     WHERE %(enabled)s::boolean
           IS DISTINCT FROM coalesce((SELECT is_on FROM before), false)
), woken AS (
    SELECT pg_notify('ojs_ready', '') WHERE NOT %(enabled)s::boolean
)
SELECT s.started_at, s.ends_at, s.reason, (SELECT count(*) FROM woken) AS woken
  FROM (VALUES (1)) AS one (x) LEFT JOIN stored AS s ON true
