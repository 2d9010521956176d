-- call: make callbacks due; `calls` is one JSON array. A workflow calls once.
-- Locks: the workflows and their callbacks, which the caller holds.
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(calls)s::json) AS g (workflow_id uuid, callback smallint)
), flow AS (
    UPDATE ojs_workflow AS w
       SET calls = (SELECT count(*) FROM given AS g WHERE g.workflow_id = w.id)
     WHERE w.id = ANY (ARRAY(SELECT workflow_id FROM given))
)
UPDATE ojs_workflow_step AS s SET state = 1, due_at = now()
  FROM given AS g
 WHERE s.workflow_id = g.workflow_id AND s.callback = g.callback AND s.state = 0
RETURNING s.workflow_id, s.index, s.state, s.child_id
