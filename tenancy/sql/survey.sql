-- survey: store the activity of all tenants in the last `minutes`, and the `most` busiest tenants
-- in order. It also stores which of these are loud, and the weights of all tenants that have jobs
-- to hand out. Pages read this row instead of all tenants. Figures are as of the last aggregation.
--
-- A tenant is loud if it made more than half of all new jobs or starts, and at least `least`. Other
-- tenants must have made some, too. An offered lane counts even if another claim has just emptied
-- it, since the statement looks at no head.
WITH lately AS MATERIALIZED (
    SELECT p.tenant, sum(p.enqueued) AS enqueued, sum(p.started) AS started
      FROM ojs_tenant_period AS p
     WHERE p.span_s = 60 AND p.at > now() - %(minutes)s::int * interval '1 minute'
     GROUP BY p.tenant
), total AS MATERIALIZED (
    SELECT count(*) AS tenants, coalesce(sum(a.enqueued), 0) AS enqueued,
           coalesce(sum(a.started), 0) AS started
      FROM lately AS a
), busiest AS MATERIALIZED (
    SELECT a.tenant, a.enqueued + a.started AS jobs,
           t.tenants > 1
           AND (a.enqueued >= %(least)s::int AND a.enqueued * 2 > t.enqueued
                OR a.started >= %(least)s::int AND a.started * 2 > t.started) AS is_loud
      FROM lately AS a CROSS JOIN total AS t
     WHERE a.enqueued + a.started > 0
     ORDER BY 2 DESC, 1 LIMIT %(most)s::int
), weighed AS MATERIALIZED (
    SELECT coalesce(sum(ojs_reduced(coalesce(t.fairness_weight, 1), r.factor)), 0) AS weights
      FROM (SELECT DISTINCT l.tenant FROM ojs_lane AS l
             WHERE ojs_offered(l.active, l.blocked_by, l.paused)) AS e
      LEFT JOIN ojs_tenant AS t ON t.id = e.tenant
      LEFT JOIN ojs_tenant_throttle AS r
             ON r.tenant_id = e.tenant AND r.hold = 'applied' AND r.action = 'weight'
)
INSERT INTO ojs_tenant_survey AS s
       (id, at, tenants, enqueued, started, weights, busiest, activity, loud)
SELECT 1, now(), t.tenants, t.enqueued, t.started, w.weights,
       array(SELECT b.tenant FROM busiest AS b ORDER BY b.jobs DESC, b.tenant),
       array(SELECT b.jobs::bigint FROM busiest AS b ORDER BY b.jobs DESC, b.tenant),
       array(SELECT b.tenant FROM busiest AS b WHERE b.is_loud)
  FROM total AS t CROSS JOIN weighed AS w
ON CONFLICT (id) DO UPDATE
   SET at = excluded.at, tenants = excluded.tenants, enqueued = excluded.enqueued,
       started = excluded.started, weights = excluded.weights, busiest = excluded.busiest,
       activity = excluded.activity, loud = excluded.loud
