-- undoom: let cancelled steps of a running workflow wait again, with their contents, unless they are
-- behind a failed step.
-- Locks: the steps, under the exclusive stripe.
WITH RECURSIVE doomed (index) AS (
    SELECT d.index FROM ojs_workflow_step AS s CROSS JOIN LATERAL unnest(s.dependents) AS d (index)
     WHERE s.workflow_id = %(id)s::uuid AND s.state IN (4, 5)
     UNION
    SELECT d.index
      FROM doomed AS o
      JOIN ojs_workflow_step AS s ON s.workflow_id = %(id)s::uuid AND s.index = o.index
     CROSS JOIN LATERAL unnest(s.dependents) AS d (index)
), freed AS (
    UPDATE ojs_workflow_step AS s SET state = 0, finished_at = NULL
     WHERE s.workflow_id = %(id)s::uuid AND s.state = 6
       AND s.index NOT IN (SELECT index FROM doomed)
    RETURNING s.index, s.child_id
), inside (id) AS (
    SELECT child_id FROM freed WHERE child_id IS NOT NULL
     UNION ALL
    SELECT s.child_id FROM inside AS i JOIN ojs_workflow_step AS s ON s.workflow_id = i.id
     WHERE s.child_id IS NOT NULL
), flow AS (
    UPDATE ojs_workflow AS w SET state = 0, finished_at = NULL
     WHERE w.id = ANY (ARRAY(SELECT id FROM inside)) AND w.state = 4
), step AS (
    UPDATE ojs_workflow_step AS s SET state = 0, finished_at = NULL
     WHERE s.workflow_id = ANY (ARRAY(SELECT id FROM inside)) AND s.state = 6
)
SELECT index FROM freed
