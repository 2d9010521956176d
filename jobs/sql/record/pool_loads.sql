-- pool_loads: the active jobs of a pool, by queue.
SELECT l.queue, count(*)
  FROM ojs_lease AS x
 CROSS JOIN LATERAL (SELECT k.queue FROM ojs_lane_key AS k WHERE k.id = x.lane_id OFFSET 0) AS l
 WHERE x.pool = %(pool)s::text
 GROUP BY l.queue
