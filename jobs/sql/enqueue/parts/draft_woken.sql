-- draft_woken: wake the lane of the only draft; most lanes are awake.
CASE WHEN state = 3 AND %(wake)s::boolean AND ojs_awake(lane_id) IS NOT TRUE
     THEN ojs_wake(ARRAY[lane_id]) END AS woken,
CASE WHEN state <> 3 OR NOT %(wake)s::boolean THEN ojs_known(ARRAY[lane_id]) END AS known
