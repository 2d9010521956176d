-- recount: count a workflow's members again after an ended member began again.
-- Locks: the slots and the workflow, under the exclusive stripe.
WITH member AS MATERIALIZED (
    SELECT s.index %% greatest(w.slots, 1) AS slot, s.state
      FROM ojs_workflow AS w JOIN ojs_workflow_step AS s ON s.workflow_id = w.id
     WHERE w.id = %(id)s::uuid AND s.callback = 0
), part AS MATERIALIZED (
    SELECT slot, count(*) FILTER (WHERE state < 3)::int AS open,
           count(*) FILTER (WHERE state = 3)::int AS completed,
           count(*) FILTER (WHERE state IN (4, 5))::int AS failed
      FROM member GROUP BY slot
), slot AS (
    UPDATE ojs_workflow_slot AS c
       SET open = p.open, completed = p.completed, failed = p.failed
      FROM part AS p
     WHERE c.workflow_id = %(id)s::uuid AND c.target = -1 AND c.slot = p.slot
)
UPDATE ojs_workflow AS w
   SET open = x.open, completed = x.completed, failed = x.failed
  FROM (SELECT CASE WHEN f.slots > 0 THEN count(*) FILTER (WHERE p.open > 0)
                    ELSE sum(p.open) END AS open,
               coalesce(sum(p.completed) FILTER (WHERE f.slots = 0 OR p.open = 0), 0) AS completed,
               coalesce(sum(p.failed) FILTER (WHERE f.slots = 0 OR p.open = 0), 0) AS failed
          FROM part AS p JOIN ojs_workflow AS f ON f.id = %(id)s::uuid
         GROUP BY f.slots) AS x
 WHERE w.id = %(id)s::uuid
