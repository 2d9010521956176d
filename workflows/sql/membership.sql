-- membership: the step that a job is of, its workflow, the steps that it came after (at most `most` by
-- name, and how many in all), and how many steps come after it.
SELECT w.id, w.name, w.state, s.name,
       (SELECT coalesce(array_agg(b.name ORDER BY b.index), '{}')
          FROM ojs_workflow_step AS b
         WHERE b.workflow_id = s.workflow_id
           AND b.index = ANY (s.depends_on[1:%(most)s::int])) AS before,
       cardinality(s.depends_on) AS number, cardinality(s.dependents) AS after
  FROM ojs_workflow_step AS s JOIN ojs_workflow AS w ON w.id = s.workflow_id
 WHERE s.job_id = %(job_id)s::uuid
