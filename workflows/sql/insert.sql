-- insert: store a checked workflow with its nested workflows; each argument is one JSON array.
-- The same transaction stores the jobs of the first steps.
-- Locks: none on shared rows.
WITH flow AS (
    INSERT INTO ojs_workflow (id, root_id, parent_id, parent_step, parent_job_id, ends_with_parent,
                              depth, kind, state, name, tenant, caller, callbacks, members, slots,
                              open, created_at, started_at)
    SELECT id, root_id, parent_id, parent_step, parent_job_id, coalesce(ends_with_parent, false),
           depth, kind, state, name, tenant, caller, callbacks, members, slots, open, now(),
           CASE WHEN state = 1 THEN now() END
      FROM json_to_recordset(%(flows)s::json) AS f (
               id uuid, root_id uuid, parent_id uuid, parent_step int,
               parent_job_id uuid, ends_with_parent boolean, depth smallint, kind smallint,
               state smallint, name text, tenant text, caller jsonb,
               callbacks smallint[], members int, slots smallint, open int)
    RETURNING id, parent_id, state, name, tenant, members
), step AS (
    INSERT INTO ojs_workflow_step (workflow_id, index, name, type, callback, state, depends_on,
                                   dependents, waits, slots, child_id, job_id, request, due_at,
                                   started_at)
    SELECT workflow_id, index, name, type, callback, state, depends_on, dependents, waits, slots,
           child_id, job_id, request, CASE WHEN state = 1 THEN now() END,
           CASE WHEN state = 2 AND child_id IS NOT NULL THEN now() END
      FROM json_to_recordset(%(steps)s::json) AS s (
               workflow_id uuid, index int, name text, type text, callback smallint,
               state smallint, depends_on int[], dependents int[], waits int, slots smallint,
               child_id uuid, job_id uuid, request jsonb)
), slot AS (
    INSERT INTO ojs_workflow_slot (workflow_id, target, slot, open)
    SELECT workflow_id, target, slot, open
      FROM json_to_recordset(%(slots)s::json) AS s (
               workflow_id uuid, target int, slot smallint, open int)
), emitted AS (
    INSERT INTO ojs_event (at, kind, tenant, data)
    SELECT now(), 50, tenant,
           jsonb_strip_nulls(jsonb_build_object('workflow_id', id, 'workflow_name', name,
               'parent_workflow_id', parent_id, 'total_steps', members))
      FROM flow WHERE state = 1
)
SELECT count(*)::int FROM flow
