-- store: make the open findings equal to the given ones, and note the look. `found` is an array of
-- findings. Only findings of `evaluated` rules end; rules that are not in `rules` no longer exist. A
-- finding that ended at most five minutes ago opens again under its id. History lasts a week. Returns
-- the changes of the list: findings that opened or closed, that changed their severity, and that are
-- listed again because their mute is over. Muted findings are left out. Locks: one look at a time
-- (advisory, by the caller).
WITH given AS MATERIALIZED (
    SELECT g.* FROM jsonb_to_recordset(%(found)s::jsonb)
        AS g (id uuid, rule text, subject text, tenant text, severity smallint, since timestamptz,
              is_exact boolean, jobs bigint, tenants int, facts jsonb)
), ended AS (
    UPDATE ojs_attention_finding AS f SET ended_at = now()
     WHERE f.ended_at IS NULL
       AND (f.rule = ANY (%(evaluated)s::text[]) OR f.rule <> ALL (%(rules)s::text[]))
       AND NOT EXISTS (SELECT FROM given AS g WHERE g.rule = f.rule AND g.subject = f.subject)
    RETURNING f.*
), kept AS (
    UPDATE ojs_attention_finding AS f
       SET tenant = g.tenant, severity = g.severity, jobs = g.jobs, tenants = g.tenants,
           facts = g.facts, since = CASE WHEN g.is_exact THEN coalesce(g.since, f.since)
                                         ELSE least(f.since, g.since) END
      FROM given AS g
     WHERE f.rule = g.rule AND f.subject = g.subject AND f.ended_at IS NULL
       AND (f.tenant, f.severity, f.jobs, f.tenants, f.facts, f.since)
           IS DISTINCT FROM (g.tenant, g.severity, g.jobs, g.tenants, g.facts, g.since)
    RETURNING f.*
), again AS (
    UPDATE ojs_attention_finding AS f
       SET ended_at = NULL, opened_at = now(), tenant = g.tenant, severity = g.severity,
           jobs = g.jobs, tenants = g.tenants, facts = g.facts, since = coalesce(g.since, now())
      FROM given AS g
     WHERE f.rule = g.rule AND f.subject = g.subject
       AND f.id = (SELECT x.id FROM ojs_attention_finding AS x
                    WHERE x.rule = g.rule AND x.subject = g.subject
                      AND x.ended_at > now() - interval '5 minutes'
                    ORDER BY x.ended_at DESC LIMIT 1)
       AND NOT EXISTS (SELECT FROM ojs_attention_finding AS o
                        WHERE o.rule = g.rule AND o.subject = g.subject AND o.ended_at IS NULL)
    RETURNING f.*
), opened AS (
    INSERT INTO ojs_attention_finding (id, rule, subject, tenant, severity, since, opened_at, jobs,
                                       tenants, facts)
    SELECT g.id, g.rule, g.subject, g.tenant, g.severity, coalesce(g.since, now()), now(), g.jobs,
           g.tenants, g.facts
      FROM given AS g
     WHERE NOT EXISTS (SELECT FROM ojs_attention_finding AS o
                        WHERE o.rule = g.rule AND o.subject = g.subject
                          AND (o.ended_at IS NULL OR o.ended_at > now() - interval '5 minutes'))
    RETURNING *
), forgotten AS (
    DELETE FROM ojs_attention_finding WHERE ended_at < now() - interval '7 days'
), unmuted AS (
    DELETE FROM ojs_attention_mute WHERE until <= now() RETURNING rule, subject
), undrifted AS (
    DELETE FROM ojs_attention_drift WHERE at < now() - interval '7 days'
), noted AS (
    INSERT INTO ojs_attention_look (id, at, failed) VALUES (1, now(), %(failed)s::text[])
    ON CONFLICT (id) DO UPDATE SET at = excluded.at, failed = excluded.failed
), changed AS (
    SELECT 'opened' AS turn, o.* FROM (SELECT * FROM opened UNION ALL SELECT * FROM again) AS o
    UNION ALL
    SELECT 'closed', e.* FROM ended AS e
    UNION ALL
    SELECT CASE WHEN u.rule IS NULL THEN 'changed' ELSE 'unmuted' END, k.*
      FROM kept AS k JOIN ojs_attention_finding AS f ON f.id = k.id
      LEFT JOIN unmuted AS u ON u.rule = k.rule AND u.subject = k.subject
     WHERE u.rule IS NOT NULL OR f.severity <> k.severity
    UNION ALL
    SELECT 'unmuted', f.*
      FROM unmuted AS u JOIN ojs_attention_finding AS f ON f.rule = u.rule AND f.subject = u.subject
     WHERE f.ended_at IS NULL AND NOT EXISTS (SELECT FROM ended AS e WHERE e.id = f.id)
       AND NOT EXISTS (SELECT FROM kept AS k WHERE k.id = f.id)
)
SELECT c.turn, c.id::text, c.rule, c.subject, c.tenant, c.severity, c.since, c.jobs, c.tenants,
       c.facts::text
  FROM changed AS c
 WHERE NOT EXISTS (SELECT FROM ojs_attention_mute AS m
                    WHERE m.rule = c.rule AND m.subject = c.subject AND m.until > now())
 ORDER BY c.turn, c.severity DESC, c.rule, c.subject
