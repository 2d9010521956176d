-- drafts_woken: wake the lanes of a request's drafts.
CASE WHEN %(wake)s::boolean THEN
     (SELECT ojs_wake(array_agg(DISTINCT lane_id)) FROM placed WHERE state = 3) END AS woken,
(SELECT ojs_known(array_agg(DISTINCT lane_id)) FROM placed
  WHERE state IN (1, 2) OR state = 3 AND NOT %(wake)s::boolean) AS known
