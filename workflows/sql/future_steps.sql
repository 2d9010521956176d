-- future_steps: the number of steps of running workflows that will make jobs of a type, by version:
-- JSON as text, null if the request does not name it. The statement reads up to `looked` waiting
-- steps by ojs_workflow_step_sends, between two equal bounds. With an equality the planner could take
-- the order from another index and read that to its end. Steps of ended workflows, whose callbacks
-- never fired, count with `is_open` false. Steps wait in states 0 and 1, workflows run in 0 and 1.
SELECT s.type, s.version, s.option,
       coalesce((SELECT w.state IN (0, 1) FROM ojs_workflow AS w WHERE w.id = s.workflow_id), false)
       AS is_open, count(*)::int AS steps
  FROM (SELECT p.workflow_id, p.request ->> 'type' AS type, (p.request -> 'version')::text AS version,
               (p.request -> 'options' -> 'version')::text AS option
          FROM ojs_workflow_step AS p
         WHERE split_part(p.request ->> 'type', '@', 1) >= %(type)s::text
           AND split_part(p.request ->> 'type', '@', 1) <= %(type)s::text
           AND p.request IS NOT NULL AND p.state IN (0, 1)
         ORDER BY split_part(p.request ->> 'type', '@', 1), p.workflow_id, p.index
         LIMIT %(looked)s::int) AS s
 GROUP BY 1, 2, 3, 4
 ORDER BY 1, 2, 3, 4
