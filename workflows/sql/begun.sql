-- begun: assign the jobs of due steps; `steps` is one JSON array.
-- Locks: the steps, whose workflows the caller holds.
UPDATE ojs_workflow_step AS s
   SET state = 2, job_id = g.job_id, request = NULL, due_at = NULL
  FROM json_to_recordset(%(steps)s::json) AS g (workflow_id uuid, index int, job_id uuid)
 WHERE s.workflow_id = g.workflow_id AND s.index = g.index AND s.state = 1
RETURNING s.index
