-- shares: the weights of all tenants with jobs to hand out, and whether this tenant has any. Also
-- its starts and the starts of all tenants in the last minutes, as of the last aggregation.
WITH eligible AS MATERIALIZED (
    SELECT DISTINCT l.tenant
      FROM ojs_lane AS l
     CROSS JOIN LATERAL (  -- one index lookup each; a semi-join might read all waiting jobs
           SELECT r.id FROM ojs_ready AS r
            WHERE r.lane_id = l.id AND r.seq >= l.low ORDER BY r.lane_id, r.seq LIMIT 1) AS head
     WHERE l.active AND l.blocked_by IS NULL AND NOT l.paused
), period AS MATERIALIZED (
    SELECT p.tenant, p.started FROM ojs_tenant_period AS p
     WHERE p.span_s = 60 AND p.at > now() - %(minutes)s::int * interval '1 minute'
)
SELECT (SELECT coalesce(sum(ojs_reduced(coalesce(t.fairness_weight, 1), r.factor)), 0)::float8
          FROM eligible AS e
          LEFT JOIN ojs_tenant AS t ON t.id = e.tenant
          LEFT JOIN ojs_tenant_throttle AS r
                 ON r.tenant_id = e.tenant AND r.hold = 'applied' AND r.action = 'weight') AS weights,
       EXISTS (SELECT FROM eligible AS e WHERE e.tenant = %(tenant)s::text) AS is_eligible,
       (SELECT coalesce(sum(p.started), 0) FROM period AS p
         WHERE p.tenant = %(tenant)s::text)::bigint AS started,
       (SELECT coalesce(sum(p.started), 0) FROM period AS p)::bigint AS started_by_all
