-- reopen: mark the failed step of a revived job as begun, if its workflow still waits for members.
-- Locks: the step, under the exclusive stripe.
UPDATE ojs_workflow_step AS s
   SET state = 2, error = NULL, started_at = NULL, finished_at = NULL
  FROM ojs_workflow AS w
 WHERE s.job_id = %(job_id)s::uuid AND s.state = 4 AND s.callback = 0
   AND w.id = s.workflow_id AND w.state = 1 AND w.calls IS NULL
RETURNING s.workflow_id
