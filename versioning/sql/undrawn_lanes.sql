-- undrawn_lanes: the next lanes of some routes, from one on, that have available jobs. Route 0 is that
-- of jobs that no rule has sent anywhere, of any type.
SELECT k.id
  FROM ojs_lane_key AS k
 WHERE k.id >= %(lane)s::bigint AND k.route = ANY (%(routes)s::int[])
   AND EXISTS (SELECT 1 FROM ojs_ready AS y WHERE y.lane_id = k.id)
 ORDER BY k.id LIMIT %(limit)s::int
