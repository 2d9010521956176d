-- release: advance the steps behind ended steps. A step without further dependencies becomes due; the
-- steps behind a failed step, directly or not, are cancelled. `ended` is one JSON array.
-- Slots count a step with many dependencies down; a step without slots counts itself.
-- Locks: the slots of wide steps, then the steps behind, each in order.
WITH RECURSIVE over AS MATERIALIZED (
    SELECT s.workflow_id, s.index, s.state, s.dependents
      FROM json_to_recordset(%(ended)s::json) AS g (workflow_id uuid, index int)
      JOIN ojs_workflow_step AS s ON s.workflow_id = g.workflow_id AND s.index = g.index
), edge AS MATERIALIZED (
    SELECT o.workflow_id, o.index, t.index AS target, t.slots
      FROM over AS o CROSS JOIN LATERAL unnest(o.dependents) AS d (index)
      JOIN ojs_workflow_step AS t ON t.workflow_id = o.workflow_id AND t.index = d.index
     WHERE o.state = 3
), hit AS MATERIALIZED (
    SELECT workflow_id, target, index %% slots AS slot, count(*)::int AS n
      FROM edge WHERE slots > 0 GROUP BY 1, 2, 3
), held_slot AS MATERIALIZED (
    SELECT c.workflow_id, c.target, c.slot, h.n
      FROM ojs_workflow_slot AS c JOIN hit AS h USING (workflow_id, target, slot)
     ORDER BY c.workflow_id, c.target, c.slot FOR UPDATE OF c
), slot AS (
    UPDATE ojs_workflow_slot AS c SET open = c.open - h.n FROM held_slot AS h
     WHERE c.workflow_id = h.workflow_id AND c.target = h.target AND c.slot = h.slot
    RETURNING c.workflow_id, c.target, c.open
), fewer AS MATERIALIZED (
    SELECT workflow_id, target AS index, count(*)::int AS n
      FROM (SELECT workflow_id, target FROM edge WHERE slots = 0
            UNION ALL SELECT workflow_id, target FROM slot WHERE open = 0) AS x
     GROUP BY 1, 2
), doomed (workflow_id, index) AS (
    SELECT o.workflow_id, d.index FROM over AS o CROSS JOIN LATERAL unnest(o.dependents) AS d (index)
     WHERE o.state IN (4, 5)
     UNION
    SELECT s.workflow_id, d.index
      FROM doomed AS o
      JOIN ojs_workflow_step AS s ON s.workflow_id = o.workflow_id AND s.index = o.index
     CROSS JOIN LATERAL unnest(s.dependents) AS d (index)
), held AS MATERIALIZED (
    SELECT s.workflow_id, s.index, s.state, coalesce(f.n, 0) AS n, d.index IS NOT NULL AS is_doomed
      FROM fewer AS f FULL JOIN doomed AS d USING (workflow_id, index)
      JOIN ojs_workflow_step AS s USING (workflow_id, index)
     ORDER BY s.workflow_id, s.index FOR UPDATE OF s
), behind AS (
    UPDATE ojs_workflow_step AS s
       SET waits = s.waits - h.n,
           state = CASE WHEN h.state <> 0 THEN s.state WHEN h.is_doomed THEN 6
                        WHEN s.waits = h.n THEN 1 ELSE 0 END,
           due_at = CASE WHEN h.state = 0 AND NOT h.is_doomed AND s.waits = h.n THEN now() END,
           finished_at = CASE WHEN h.state = 0 AND h.is_doomed THEN now() ELSE s.finished_at END
      FROM held AS h WHERE s.workflow_id = h.workflow_id AND s.index = h.index
    RETURNING s.workflow_id, s.index, s.state, s.child_id, h.state AS previous
)
SELECT b.workflow_id, b.index, b.state, b.child_id FROM behind AS b
 WHERE b.previous = 0 AND b.state IN (1, 6)
