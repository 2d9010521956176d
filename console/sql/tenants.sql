-- tenants: a page of tenants with what they did in the last `minutes`, as of the last fold: the loud
-- ones first, then by what they enqueued and started, or all by id. Loud is who is in `loud`, and who
-- made more than half of all new jobs or starts, `least` of them, where others made some, too.
-- The default tenant is always one of them. `only`: that tenant alone.
-- Read are the counts of these minutes, the head of each lane that has jobs, and the tenants.
-- `after_rank` and `after_id` are those of the last tenant of the page before; null: the first page.
WITH lately AS MATERIALIZED (
    SELECT p.tenant, sum(p.enqueued) AS enqueued, sum(p.started) AS started,
           sum(p.completed) AS completed, sum(p.failed) AS failed
      FROM ojs_tenant_period AS p
     WHERE p.span_s = 60 AND p.at > now() - %(minutes)s::int * interval '1 minute'
     GROUP BY p.tenant
), waiting AS MATERIALIZED (
    SELECT l.tenant, min(head.enqueued_at) AS since,
           bool_or(l.blocked_by IS NULL AND NOT l.paused) AS is_eligible
      FROM ojs_lane AS l
     CROSS JOIN LATERAL (  -- one look each, where a join might read all that waits
           SELECT r.enqueued_at FROM ojs_ready AS r
            WHERE r.lane_id = l.id AND r.seq >= l.low ORDER BY r.lane_id, r.seq LIMIT 1) AS head
     WHERE l.active GROUP BY l.tenant
), total AS MATERIALIZED (
    SELECT (SELECT coalesce(sum(CASE WHEN r.factor IS NULL THEN o.weight
                                     ELSE least(o.weight, greatest(1, floor(o.weight * r.factor)))
                                END), 0)::float8
              FROM waiting AS w
              LEFT JOIN ojs_tenant AS t ON t.id = w.tenant
              LEFT JOIN ojs_tenant_throttle AS r
                     ON r.tenant_id = w.tenant AND r.hold = 'applied' AND r.action = 'weight'
             CROSS JOIN LATERAL (SELECT coalesce(t.fairness_weight, 1) AS weight) AS o
             WHERE w.is_eligible) AS weights,
           coalesce(sum(a.enqueued), 0) AS enqueued, coalesce(sum(a.started), 0) AS started,
           count(*) AS tenants
      FROM lately AS a
), known AS (
    SELECT t.id, t.name, t.state FROM ojs_tenant AS t
    UNION ALL
    SELECT %(default)s::text, NULL, 'active'
     WHERE NOT EXISTS (SELECT FROM ojs_tenant AS t WHERE t.id = %(default)s::text)
), ranked AS (
    SELECT k.id, n.is_loud, CASE WHEN %(by_id)s::boolean THEN 0
                                 WHEN n.is_loud THEN 1e12 ELSE 0 END
                            + CASE WHEN %(by_id)s::boolean THEN 0
                                   ELSE coalesce(a.enqueued + a.started, 0) END AS rank
      FROM known AS k CROSS JOIN total AS t LEFT JOIN lately AS a ON a.tenant = k.id
     CROSS JOIN LATERAL (
           SELECT k.id = ANY (%(loud)s::text[])
                  OR coalesce(t.tenants > 1 AND (
                         a.enqueued >= %(least)s::int AND a.enqueued * 2 > t.enqueued
                         OR a.started >= %(least)s::int AND a.started * 2 > t.started), false)
                  AS is_loud OFFSET 0) AS n
     WHERE (%(only)s::text IS NULL OR k.id = %(only)s::text)
       AND (%(state)s::text IS NULL OR k.state = %(state)s::text)
       AND (n.is_loud OR NOT %(only_loud)s::boolean)
       AND (%(containing)s::text = '' OR strpos(lower(k.id), lower(%(containing)s::text)) > 0
            OR strpos(lower(k.name), lower(%(containing)s::text)) > 0)
), listed AS MATERIALIZED (
    SELECT r.id, r.is_loud, r.rank FROM ranked AS r
     WHERE %(after_id)s::text IS NULL OR r.rank < %(after_rank)s::bigint
        OR r.rank = %(after_rank)s::bigint AND r.id > %(after_id)s::text
     ORDER BY r.rank DESC, r.id LIMIT %(size)s::int
)
SELECT d.id, d.rank::bigint, d.is_loud, coalesce(a.enqueued, 0)::bigint, coalesce(a.started, 0)::bigint,
       coalesce(a.completed, 0)::bigint, coalesce(a.failed, 0)::bigint, w.since,
       coalesce(w.is_eligible, false), t.weights, t.enqueued::bigint, t.started::bigint,
       t.tenants
  FROM listed AS d CROSS JOIN total AS t
  LEFT JOIN lately AS a ON a.tenant = d.id LEFT JOIN waiting AS w ON w.tenant = d.id
 ORDER BY d.rank DESC, d.id
