-- tree: all workflows of the tree of `id`, outer before inner.
-- The counts of a wide running workflow are the sum of its row and its open slots.
WITH root AS MATERIALIZED (
    SELECT w.root_id FROM ojs_workflow AS w WHERE w.id = %(id)s::uuid
)
SELECT w.id, w.root_id, w.parent_id, w.parent_step, w.parent_job_id, w.kind, w.state, w.name,
       w.tenant, w.members,
       w.completed + coalesce(c.completed, 0) AS completed,
       w.failed + coalesce(c.failed, 0) AS failed, w.created_at, w.started_at, w.finished_at
  FROM (SELECT o.* FROM ojs_workflow AS o WHERE o.id = (SELECT root_id FROM root)
         UNION ALL
        SELECT i.* FROM ojs_workflow AS i
         WHERE i.root_id = (SELECT root_id FROM root) AND i.parent_id IS NOT NULL) AS w
  LEFT JOIN LATERAL (
       SELECT sum(c.completed)::int AS completed, sum(c.failed)::int AS failed
         FROM ojs_workflow_slot AS c
        WHERE c.workflow_id = w.id AND c.target = -1 AND c.open > 0) AS c ON w.slots > 0
 ORDER BY w.depth, w.id
