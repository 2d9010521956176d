-- started: the jobs of a tree's steps that have begun and not ended; a plain read.
SELECT s.job_id
  FROM ojs_workflow_step AS s
 WHERE s.workflow_id = ANY (ARRAY(
           SELECT %(root_id)s::uuid
            UNION ALL
           SELECT w.id FROM ojs_workflow AS w
            WHERE w.root_id = %(root_id)s::uuid AND w.parent_id IS NOT NULL))
   AND s.state = 2 AND s.job_id IS NOT NULL
