-- membership: the step and workflow of a job, the steps before it and the number of steps behind it.
-- `before` has at most `most` names, `number` is the number of all steps before it.
SELECT w.id, w.name, w.state, s.name,
       (SELECT coalesce(array_agg(b.name ORDER BY b.index), '{}')
          FROM ojs_workflow_step AS b
         WHERE b.workflow_id = s.workflow_id
           AND b.index = ANY (s.depends_on[1:%(most)s::int])) AS before,
       cardinality(s.depends_on) AS number, cardinality(s.dependents) AS after
  FROM ojs_workflow_step AS s JOIN ojs_workflow AS w ON w.id = s.workflow_id
 WHERE s.job_id = %(job_id)s::uuid
