-- enter: begin nested workflows and return their first steps, which are due.
-- Locks: the workflows and these steps, which no other statement touches before they begin.
WITH flow AS (
    UPDATE ojs_workflow AS w SET state = 1, started_at = now()
     WHERE w.id = ANY (%(ids)s::uuid[]) AND w.state = 0
    RETURNING w.id, w.parent_id, w.parent_step, w.name, w.tenant, w.members
), outer_step AS (
    UPDATE ojs_workflow_step AS s SET state = 2, due_at = NULL, started_at = now()
      FROM flow AS f WHERE s.workflow_id = f.parent_id AND s.index = f.parent_step
), emitted AS (
    INSERT INTO ojs_event (at, kind, tenant, data)
    SELECT now(), 50, tenant, jsonb_build_object('workflow_id', id, 'workflow_name', name,
               'parent_workflow_id', parent_id, 'total_steps', members)
      FROM flow
)
UPDATE ojs_workflow_step AS s SET state = 1, due_at = now()
  FROM flow AS f
 WHERE s.workflow_id = f.id AND s.state = 0 AND s.callback = 0 AND s.waits = 0
RETURNING s.workflow_id, s.index, s.state, s.child_id
