-- marks: changes from `since` to before `until` that explain a chart, newest first, at most `size`.
-- From the audit log: entries of `actions`; with `targets` the entries with these targets, and the
-- entries of the actions `everywhere`. From the workers: when the first worker of a build started. A
-- build is a label of the worker, or else its declaration. The audit log is read by its indexes:
-- `size` entries of each action or target.
WITH bound AS MATERIALIZED (
    SELECT coalesce((SELECT a.id FROM ojs_audit AS a WHERE a.at >= %(since)s::timestamptz
                      ORDER BY a.at, a.id LIMIT 1), 9223372036854775807) AS first,
           coalesce((SELECT a.id FROM ojs_audit AS a WHERE a.at < %(until)s::timestamptz
                      ORDER BY a.at DESC, a.id DESC LIMIT 1), 0) AS last
), entry AS (
    SELECT e.* FROM unnest(CASE WHEN %(targets)s::text[] IS NULL THEN %(actions)s::text[]
                                ELSE %(everywhere)s::text[] END) AS n (action)
     CROSS JOIN LATERAL (
           SELECT a.at, a.action, a.target, a.actor, a.reason, a.outcome FROM ojs_audit AS a
            WHERE ROW(a.action, a.id) >= ROW(n.action, (SELECT first FROM bound))
              AND ROW(a.action, a.id) <= ROW(n.action, (SELECT last FROM bound))
            ORDER BY a.action DESC, a.id DESC LIMIT %(size)s::int) AS e
    UNION ALL
    SELECT e.* FROM unnest(%(targets)s::text[]) AS n (target)
     CROSS JOIN LATERAL (
           SELECT a.at, a.action, a.target, a.actor, a.reason, a.outcome FROM ojs_audit AS a
            WHERE ROW(a.target, a.id) >= ROW(n.target, (SELECT first FROM bound))
              AND ROW(a.target, a.id) <= ROW(n.target, (SELECT last FROM bound))
            ORDER BY a.target DESC, a.id DESC LIMIT %(size)s::int) AS e
), build AS (
    SELECT coalesce(w.labels ->> 'build', w.labels ->> 'release', w.labels ->> 'commit',
                    w.labels ->> 'version', w.declared::text) AS name,
           coalesce(w.labels ->> 'build', w.labels ->> 'release', w.labels ->> 'commit',
                    w.labels ->> 'version') AS label,
           w.started_at
      FROM ojs_worker AS w
     WHERE %(with_builds)s::boolean
)
SELECT e.at, e.action, e.target, e.actor, e.reason, 0 AS workers FROM entry AS e
 WHERE e.outcome = 'success' AND e.action = ANY (%(actions)s::text[])
   AND e.at >= %(since)s::timestamptz AND e.at < %(until)s::timestamptz
UNION ALL
SELECT min(b.started_at), 'worker.build', coalesce(max(b.label), ''), '', NULL, count(*)::int
  FROM build AS b WHERE b.name IS NOT NULL GROUP BY b.name
HAVING min(b.started_at) >= %(since)s::timestamptz AND min(b.started_at) < %(until)s::timestamptz
 ORDER BY 1 DESC LIMIT %(size)s::int
