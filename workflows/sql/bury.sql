-- bury: cancel nested workflows, with their contents, whose step was cancelled before they began.
-- Locks: their rows, which no other statement touches.
WITH RECURSIVE inside (id) AS (
    SELECT unnest(%(ids)s::uuid[])
     UNION ALL
    SELECT s.child_id FROM inside AS i JOIN ojs_workflow_step AS s ON s.workflow_id = i.id
     WHERE s.child_id IS NOT NULL
), flow AS (
    UPDATE ojs_workflow AS w SET state = 4, finished_at = now()
     WHERE w.id = ANY (ARRAY(SELECT id FROM inside)) AND w.state = 0
)
UPDATE ojs_workflow_step AS s SET state = 6, finished_at = now()
 WHERE s.workflow_id = ANY (ARRAY(SELECT id FROM inside)) AND s.state = 0
RETURNING s.index
