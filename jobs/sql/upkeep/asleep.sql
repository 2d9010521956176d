-- asleep: lanes that hold jobs but are not offered, each with the number of its first job.
-- The inner order makes the planner read one index entry per lane, however few lanes there are.
-- Offered lanes, with all the dead rows that claims leave behind, are not in the index.
SELECT l.id, r.seq
  FROM ojs_lane AS l
 CROSS JOIN LATERAL (
       SELECT z.seq FROM ojs_ready AS z WHERE z.lane_id = l.id ORDER BY z.lane_id, z.seq LIMIT 1
       ) AS r
 WHERE NOT l.active
