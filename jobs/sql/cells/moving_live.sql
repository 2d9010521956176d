-- moving_live: the live jobs of a tenant by state, with those that an extension follows. It reads the
-- narrow rows, since counts may lag.
-- Locks: none.
WITH lane AS MATERIALIZED (
    SELECT k.id FROM ojs_lane_key AS k WHERE k.tenant = %(tenant)s::text
), live AS (
    SELECT r.id, 3 AS state FROM lane AS k JOIN ojs_ready AS r ON r.lane_id = k.id
    UNION ALL
    SELECT w.id, w.kind FROM ojs_later AS w WHERE w.lane_id = ANY (ARRAY(SELECT id FROM lane))
    UNION ALL
    SELECT x.id, 4 FROM ojs_lease AS x WHERE x.tenant = %(tenant)s::text
)
SELECT v.state::int, count(*)::int, count(*) FILTER (WHERE j.watched)::int
  FROM live AS v JOIN ojs_job AS j ON j.id = v.id GROUP BY 1 ORDER BY 1
