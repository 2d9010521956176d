-- sends: how many steps of workflows that run will make jobs of a type, by what says the version: JSON
-- as text, null where it is not said. Up to `looked` that wait are looked at by
-- ojs_workflow_step_sends, between two equal bounds: with an equality another index could give the
-- order, and be read to its end. Of workflows that have ended, whose callbacks had no turn, they count
-- for `is_open` false. 0 and 1 wait, 0 and 1 run.
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
