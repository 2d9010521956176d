-- retained: the ids among `ids` that are members of running trees; a plain read.
SELECT s.job_id
  FROM ojs_workflow_step AS s
  JOIN ojs_workflow AS w ON w.id = s.workflow_id
  JOIN ojs_workflow AS r ON r.id = w.root_id
 WHERE s.job_id = ANY (%(ids)s::uuid[]) AND r.state = 1
