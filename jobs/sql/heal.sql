-- heal: bring back lanes that hold jobs but are not offered; finding one is an alarm.
SELECT ojs_wake(array_agg(l.id ORDER BY l.id)) AS healed FROM ojs_lane AS l
 WHERE NOT l.active AND EXISTS (SELECT 1 FROM ojs_ready AS r WHERE r.lane_id = l.id)
