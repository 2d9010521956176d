-- finish: end workflows; `flows` is one JSON array of ids and final states.
-- Locks: the workflows, which the caller holds.
WITH ended AS (
    UPDATE ojs_workflow AS w
       SET state = g.state, finished_at = now(),
           prune_at = CASE WHEN w.parent_id IS NULL
                           THEN now() + %(retention_ms)s::bigint * interval '1 millisecond' END
      FROM json_to_recordset(%(flows)s::json) AS g (id uuid, state smallint)
     WHERE w.id = g.id AND w.state = 1
    RETURNING w.id, w.state, w.name, w.tenant, w.members, w.parent_id, w.parent_step,
              w.parent_job_id, w.started_at
), emitted AS (
    INSERT INTO ojs_event (at, kind, tenant, data)
    SELECT now(), CASE e.state WHEN 2 THEN 52 ELSE 53 END, e.tenant,
           jsonb_strip_nulls(jsonb_build_object('workflow_id', e.id, 'workflow_name', e.name,
               'parent_workflow_id', e.parent_id, 'total_steps', e.members,
               'duration_ms', (extract(epoch FROM now() - e.started_at) * 1000)::bigint,
               'failed_step_id', f.name, 'failed_step_type', f.type, 'error', f.error))
      FROM ended AS e
      LEFT JOIN LATERAL (
           SELECT s.name, s.type, s.error FROM ojs_workflow_step AS s
            WHERE s.workflow_id = e.id AND s.state IN (4, 5)
            ORDER BY s.finished_at, s.index LIMIT 1) AS f ON e.state = 3
)
SELECT e.id, e.state, e.parent_id, e.parent_step, e.parent_job_id, e.tenant
  FROM ended AS e ORDER BY e.id
