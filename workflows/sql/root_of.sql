-- root_of: the tree of a member; a plain read.
SELECT w.root_id FROM ojs_workflow_step AS s JOIN ojs_workflow AS w ON w.id = s.workflow_id
 WHERE s.job_id = %(job_id)s::uuid
