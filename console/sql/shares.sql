-- shares: tenants that share over a scope of several queues, by their starts in the last `minutes` up to
-- the last aggregation: their weight, whether they have jobs to hand out, and the sums of all tenants.
-- Reads the lanes of the scope, the head of each lane with jobs, and the counts of these minutes.
WITH lane AS MATERIALIZED (
    SELECT l.tenant, ojs_queue_of(l.queue) AS queue, l.weight,
           ojs_offered(l.active, l.blocked_by, l.paused) AND coalesce(
               (SELECT true FROM ojs_ready AS r
                 WHERE r.lane_id = l.id AND r.seq >= l.low - 128
                 ORDER BY r.lane_id, r.seq LIMIT 1), false) AS waits
      FROM ojs_lane AS l WHERE l.scope = %(scope)s::text
), tenant AS (
    SELECT l.tenant, max(l.weight) AS weight, bool_or(l.waits) AS waits FROM lane AS l GROUP BY l.tenant
), lately AS (
    SELECT p.tenant, sum(p.started) AS started FROM ojs_tenant_period AS p
     WHERE p.span_s = 60 AND p.at > now() - %(minutes)s::int * interval '1 minute'
       AND p.queue = ANY (ARRAY(SELECT DISTINCT l.queue FROM lane AS l))
     GROUP BY p.tenant
)
SELECT t.tenant, t.weight, t.waits, coalesce(a.started, 0)::bigint,
       (sum(a.started) OVER ())::bigint AS all_started,
       sum(t.weight) FILTER (WHERE t.waits) OVER () AS weights, count(*) OVER () AS tenants
  FROM tenant AS t LEFT JOIN lately AS a ON a.tenant = t.tenant
 ORDER BY coalesce(a.started, 0) DESC, t.waits DESC, t.tenant LIMIT %(size)s::int
