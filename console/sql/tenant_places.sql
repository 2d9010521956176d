-- tenant_places: the activity of some tenants in the last `minutes` up to the last aggregation.
-- Also their oldest waiting job, and the sums of all tenants at the last survey. Reads the heads of
-- up to 200 lanes of each tenant.
-- `weights` is the sum over the tenants whose waiting jobs claims may take. If more than `lanes`
-- lanes are offered, it is the sum at the last survey, which also counts lanes just emptied.
WITH offered AS MATERIALIZED (
    SELECT l.id, l.tenant, l.low FROM ojs_lane AS l
     WHERE ojs_offered(l.active, l.blocked_by, l.paused)
     ORDER BY l.queue, l.rank, l.vt, l.id LIMIT %(lanes)s::int + 1  -- the order of an index
), weighed AS MATERIALIZED (
    SELECT (SELECT count(*) FROM offered AS o) <= %(lanes)s::int AS is_whole,
           coalesce(sum(ojs_reduced(coalesce(t.fairness_weight, 1), r.factor)), 0) AS weights
      FROM (SELECT DISTINCT o.tenant
              FROM offered AS o
             CROSS JOIN LATERAL (
                   SELECT r.seq FROM ojs_ready AS r
                    WHERE r.lane_id = o.id AND r.seq >= o.low ORDER BY r.lane_id, r.seq
                    LIMIT 1) AS head) AS e
      LEFT JOIN ojs_tenant AS t ON t.id = e.tenant
      LEFT JOIN ojs_tenant_throttle AS r
             ON r.tenant_id = e.tenant AND r.hold = 'applied' AND r.action = 'weight'
)
SELECT x.id, coalesce(x.id = ANY (s.loud), false), coalesce(a.enqueued, 0)::bigint,
       coalesce(a.started, 0)::bigint, coalesce(a.completed, 0)::bigint,
       coalesce(a.failed, 0)::bigint, w.since, coalesce(w.is_eligible, false),
       CASE WHEN g.is_whole THEN g.weights ELSE coalesce(s.weights, 0) END,
       coalesce(s.enqueued, 0), coalesce(s.started, 0),
       coalesce(s.tenants, 0)
  FROM unnest(%(tenants)s::text[]) AS x (id)
 CROSS JOIN weighed AS g
  LEFT JOIN ojs_tenant_survey AS s
         ON s.id = 1 AND s.at > now() - %(minutes)s::int * interval '1 minute'
 CROSS JOIN LATERAL (
       SELECT sum(p.enqueued) AS enqueued, sum(p.started) AS started,
              sum(p.completed) AS completed, sum(p.failed) AS failed
         FROM ojs_tenant_period AS p
        WHERE p.tenant = x.id AND p.span_s = 60
          AND p.at > now() - %(minutes)s::int * interval '1 minute') AS a
 CROSS JOIN LATERAL (
       SELECT min(head.enqueued_at) AS since, bool_or(l.is_offered) AS is_eligible
         FROM (SELECT o.id, o.low, o.returned, o.blocked_by IS NULL AND NOT o.paused AS is_offered
                 FROM ojs_lane_key AS k
                CROSS JOIN LATERAL (
                      SELECT m.* FROM ojs_lane AS m WHERE m.id = k.id AND m.active OFFSET 0) AS o
                WHERE k.tenant = x.id LIMIT 200) AS l
        CROSS JOIN LATERAL (  -- one index read per lane; a join might read all waiting jobs
              SELECT r.enqueued_at FROM ojs_ready AS r
               WHERE r.lane_id = l.id AND r.seq >= l.low ORDER BY r.lane_id, r.seq
               LIMIT CASE WHEN l.returned IS NULL THEN 1 ELSE 100 END) AS head
       ) AS w
