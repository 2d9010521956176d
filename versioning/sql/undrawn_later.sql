-- undrawn_later: the next jobs that wait for a time or an activation, after `kind` and `id`.
-- Their own versions are JSON.
WITH picked AS MATERIALIZED (
    SELECT l.id, l.kind, l.lane_id FROM ojs_later AS l
     WHERE (l.kind, l.id) > (%(kind)s::smallint, %(id)s::uuid)
     ORDER BY l.kind, l.id LIMIT %(limit)s::int
)
SELECT p.id, p.kind, p.lane_id, j.type, j.version, k.route
  FROM picked AS p
 CROSS JOIN LATERAL (SELECT x.type, x.version FROM ojs_job AS x WHERE x.id = p.id OFFSET 0) AS j
 CROSS JOIN LATERAL (SELECT m.route FROM ojs_lane_key AS m WHERE m.id = p.lane_id OFFSET 0) AS k
 ORDER BY p.kind, p.id
