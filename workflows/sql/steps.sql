-- steps: the steps of workflows in order, with details of their live jobs. Results are included until
-- their stored sizes together exceed `result_bytes`.
SELECT s.workflow_id, s.index, s.name, s.type, s.callback, s.state, l.id IS NOT NULL AS is_active,
       w.kind AS later,
       s.depends_on, s.child_id, s.job_id,
       coalesce(s.started_at, l.started_at, j.started_at) AS started_at, s.finished_at,
       s.result IS NOT NULL AS has_result,
       CASE WHEN sum(pg_column_size(s.result)) OVER w <= %(result_bytes)s::bigint
            THEN s.result::text END AS result,
       s.error::text AS error, p.progress
  FROM ojs_workflow_step AS s
  LEFT JOIN ojs_lease AS l ON l.id = s.job_id AND s.state = 2
  LEFT JOIN ojs_later AS w ON w.id = s.job_id AND s.state = 2
  LEFT JOIN ojs_job AS j ON j.id = s.job_id AND s.state = 2
  LEFT JOIN ojs_progress AS p ON p.job_id = s.job_id
 WHERE s.workflow_id = ANY (%(ids)s::uuid[])
WINDOW w AS (ORDER BY s.workflow_id, s.index)
 ORDER BY s.workflow_id, s.index
