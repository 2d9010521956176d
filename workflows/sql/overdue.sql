-- overdue: due steps that did not begin with the end of their dependencies; a plain read.
SELECT s.workflow_id, s.index, w.root_id
  FROM (SELECT workflow_id, index, due_at FROM ojs_workflow_step
         WHERE due_at <= statement_timestamp() ORDER BY due_at LIMIT %(batch)s::int) AS s
  JOIN ojs_workflow AS w ON w.id = s.workflow_id
 ORDER BY s.due_at
