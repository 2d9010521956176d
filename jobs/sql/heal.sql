-- heal: bring back lanes that hold jobs but are not offered; finding one is an alarm.
-- The inner order makes the planner look at one index entry per lane, however few lanes there are.
-- Lanes that are offered, with all the dead rows that claims leave behind, are not in the index.
SELECT ojs_wake(array_agg(l.id ORDER BY l.id)) AS healed FROM ojs_lane AS l
 WHERE NOT l.active
   AND (SELECT true FROM ojs_ready AS r WHERE r.lane_id = l.id
         ORDER BY r.lane_id, r.seq LIMIT 1)
