-- due: the requests and parents' results for the jobs of due steps. `results` is a JSON array as text,
-- null for a first step. It has the results of all steps before in a chain, of all members for a
-- callback, otherwise of the dependencies in their order. `bytes` is its length; beyond `limit` it is
-- left out.
WITH given AS MATERIALIZED (
    SELECT s.workflow_id, s.index, s.request, w.caller,
           CASE WHEN s.callback > 0 THEN ARRAY(SELECT generate_series(0, w.members - 1))
                WHEN w.kind = 1 THEN ARRAY(SELECT generate_series(0, s.index - 1))
                ELSE s.depends_on END AS parents
      FROM json_to_recordset(%(steps)s::json) AS g (workflow_id uuid, index int)
      JOIN ojs_workflow_step AS s ON s.workflow_id = g.workflow_id AND s.index = g.index
      JOIN ojs_workflow AS w ON w.id = g.workflow_id
     WHERE s.state = 1
), size AS MATERIALIZED (
    SELECT g.*, (SELECT sum(octet_length(p.result::text)) FROM ojs_workflow_step AS p
                  WHERE p.workflow_id = g.workflow_id AND p.index = ANY (g.parents)) AS bytes
      FROM given AS g
)
SELECT z.workflow_id, z.index, z.request::text AS request, z.caller::text AS caller,
       coalesce(z.bytes, 0) AS bytes,
       CASE WHEN cardinality(z.parents) > 0 AND coalesce(z.bytes, 0) <= %(limit)s::bigint THEN
            (SELECT '[' || string_agg(coalesce(p.result::text, 'null'), ',' ORDER BY o.n) || ']'
               FROM unnest(z.parents) WITH ORDINALITY AS o (index, n)
               JOIN ojs_workflow_step AS p
                 ON p.workflow_id = z.workflow_id AND p.index = o.index) END AS results
  FROM size AS z ORDER BY z.workflow_id, z.index
