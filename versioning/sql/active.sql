-- active: how many jobs of some version keys are active; reads all leases, once.
SELECT k.route, count(*)::int AS jobs
  FROM ojs_lease AS l JOIN ojs_lane_key AS k ON k.id = l.lane_id
 WHERE k.route = ANY (%(routes)s::int[])
 GROUP BY k.route
