-- undrawn_lanes: the next lanes of some version keys, from `lane` on, that have available jobs.
-- Version key 0 belongs to jobs of any type that no rule has sent to a version.
SELECT k.id
  FROM ojs_lane_key AS k
 WHERE k.id >= %(lane)s::bigint AND k.route = ANY (%(routes)s::int[])
   AND EXISTS (SELECT 1 FROM ojs_ready AS y WHERE y.lane_id = k.id)
 ORDER BY k.id LIMIT %(limit)s::int
