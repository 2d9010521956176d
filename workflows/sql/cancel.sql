-- cancel: end a running tree after the caller has cancelled its waiting jobs; active jobs continue.
-- `begun` are the jobs that had begun when the caller read them; it has ended the jobs in `cancelled`.
-- `missed` is true if another job has begun since and waits: the caller starts again.
-- Locks: the rows of the tree, under its exclusive stripe.
WITH flow AS (
    UPDATE ojs_workflow AS w
       SET state = 4, finished_at = now(),
           prune_at = CASE WHEN w.parent_id IS NULL
                           THEN now() + %(retention_ms)s::bigint * interval '1 millisecond' END
     WHERE w.state IN (0, 1)
       AND (w.id = %(root_id)s::uuid
            OR w.root_id = %(root_id)s::uuid AND w.parent_id IS NOT NULL)
       AND EXISTS (SELECT 1 FROM ojs_workflow AS r WHERE r.id = %(root_id)s::uuid AND r.state = 1)
    RETURNING w.id, w.parent_id, w.name, w.tenant, w.members, w.started_at,
              w.parent_job_id
), missed AS (
    SELECT s.job_id FROM ojs_workflow_step AS s
     WHERE s.workflow_id = ANY (ARRAY(SELECT id FROM flow)) AND s.state = 2
       AND s.job_id <> ALL (%(begun)s::uuid[])
       AND (EXISTS (SELECT 1 FROM ojs_ready AS r WHERE r.id = s.job_id)
            OR EXISTS (SELECT 1 FROM ojs_later AS l WHERE l.id = s.job_id))
     LIMIT 1
), step AS (
    UPDATE ojs_workflow_step AS s SET state = 6, due_at = NULL, finished_at = now()
     WHERE s.workflow_id = ANY (ARRAY(SELECT id FROM flow))
       AND (s.state IN (0, 1) OR s.state = 2 AND (s.child_id IS NOT NULL
                                                 OR s.job_id = ANY (%(cancelled)s::uuid[])))
    RETURNING s.child_id, s.callback
), emitted AS (
    INSERT INTO ojs_event (at, kind, tenant, data)
    SELECT now(), 54, tenant,
           jsonb_strip_nulls(jsonb_build_object('workflow_id', id, 'workflow_name', name,
               'parent_workflow_id', parent_id, 'total_steps', members,
               'duration_ms', (extract(epoch FROM now() - started_at) * 1000)::bigint))
      FROM flow WHERE started_at IS NOT NULL
)
SELECT (SELECT count(*) FROM step WHERE child_id IS NULL AND callback = 0)::int
           AS steps_cancelled,
       (SELECT count(*) FROM ojs_workflow_step AS s
         WHERE s.workflow_id = ANY (ARRAY(SELECT w.id FROM ojs_workflow AS w
                                           WHERE w.id = %(root_id)s::uuid
                                              OR w.root_id = %(root_id)s::uuid
                                                 AND w.parent_id IS NOT NULL))
           AND s.state = 3 AND s.child_id IS NULL AND s.callback = 0)::int AS steps_completed,
       now() AS cancelled_at, EXISTS (SELECT 1 FROM missed) AS missed,
       (SELECT f.parent_job_id::text FROM flow AS f WHERE f.parent_job_id IS NOT NULL) AS parent_job_id,
       (SELECT f.tenant FROM flow AS f WHERE f.parent_id IS NULL) AS tenant
 WHERE EXISTS (SELECT 1 FROM flow)
