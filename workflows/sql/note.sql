-- note: end steps without a job that decides the outcome: nested workflows and refused jobs.
-- `steps` is one JSON array. The result of a nested workflow is the array of its members' results;
-- an array of more than `limit` bytes fails the step.
-- Locks: the steps, whose workflows the caller holds.
WITH given AS MATERIALIZED (
    SELECT g.*, c.child_id
      FROM json_to_recordset(%(steps)s::json)
               AS g (workflow_id uuid, index int, state smallint, error jsonb)
      JOIN ojs_workflow_step AS c ON c.workflow_id = g.workflow_id AND c.index = g.index
), size AS MATERIALIZED (
    SELECT g.child_id, sum(octet_length(m.result::text)) AS bytes
      FROM given AS g
      JOIN ojs_workflow_step AS m ON m.workflow_id = g.child_id AND m.callback = 0
     WHERE g.state = 3 GROUP BY g.child_id
), gathered AS MATERIALIZED (
    SELECT z.child_id, jsonb_agg(coalesce(m.result, 'null') ORDER BY m.index) AS results
      FROM size AS z JOIN ojs_workflow_step AS m ON m.workflow_id = z.child_id AND m.callback = 0
     WHERE coalesce(z.bytes, 0) <= %(limit)s::bigint GROUP BY z.child_id
), outcome AS MATERIALIZED (
    SELECT g.workflow_id, g.index, r.results,
           CASE WHEN z.bytes > %(limit)s::bigint THEN 4 ELSE g.state END AS state,
           CASE WHEN z.bytes > %(limit)s::bigint
                THEN jsonb_build_object('code', 'results_too_large', 'type', 'results_too_large',
                    'message', 'the results of the nested workflow have ' || z.bytes || ' bytes')
                ELSE g.error END AS error
      FROM given AS g
      LEFT JOIN size AS z ON z.child_id = g.child_id
      LEFT JOIN gathered AS r ON r.child_id = g.child_id
), ended AS (
    UPDATE ojs_workflow_step AS s
       SET state = o.state, result = o.results, error = o.error, due_at = NULL, finished_at = now()
      FROM outcome AS o
     WHERE s.workflow_id = o.workflow_id AND s.index = o.index AND s.state IN (1, 2)
    RETURNING s.workflow_id, s.index, s.state, s.callback, cardinality(s.dependents) AS dependents
)
SELECT e.workflow_id, e.index, e.state, e.callback, w.depth, e.dependents
  FROM ended AS e JOIN ojs_workflow AS w ON w.id = e.workflow_id
