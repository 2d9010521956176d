-- undrawn: the next available jobs of a lane, after `seq`; their own versions are JSON.
-- Rows are picked first: a plan without values for limit and lane would join whole tables.
WITH picked AS MATERIALIZED (
    SELECT y.id, y.lane_id, y.seq, y.enqueued_at FROM ojs_ready AS y
     WHERE y.lane_id = %(lane)s::bigint AND y.seq > %(seq)s::bigint
     ORDER BY y.lane_id, y.seq LIMIT %(limit)s::int
)
SELECT p.id, p.lane_id, p.seq, p.enqueued_at, j.type, j.version, k.route
  FROM picked AS p
  JOIN ojs_lane_key AS k ON k.id = p.lane_id
 CROSS JOIN LATERAL (SELECT x.type, x.version FROM ojs_job AS x WHERE x.id = p.id OFFSET 0) AS j
 ORDER BY p.seq
