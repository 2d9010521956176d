-- postpone: let a due step try again later.
-- Locks: the step.
UPDATE ojs_workflow_step AS s
   SET due_at = now() + %(delay_ms)s::bigint * interval '1 millisecond'
 WHERE s.workflow_id = %(workflow_id)s::uuid AND s.index = %(index)s::int AND s.state = 1
RETURNING s.index
