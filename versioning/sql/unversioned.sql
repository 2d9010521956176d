-- unversioned: unversioned jobs of a type by state, in one snapshot.
-- Their lanes have jobs of all types, so up to `looked` jobs of each state are read, the newest first.
-- In the result, `looked` is the number of jobs read.
WITH looked AS MATERIALIZED (
    (SELECT 3 AS state, r.id FROM ojs_ready AS r ORDER BY r.id DESC LIMIT %(looked)s::int)
    UNION ALL
    (SELECT 4, x.id FROM ojs_lease AS x ORDER BY x.id DESC LIMIT %(looked)s::int)
    UNION ALL
    SELECT l.kind, l.id
      FROM unnest('{1,2,5}'::int[]) AS s (kind)
     CROSS JOIN LATERAL (
           SELECT l.kind, l.id FROM ojs_later AS l
            WHERE l.kind = s.kind ORDER BY l.kind DESC, l.id DESC LIMIT %(looked)s::int) AS l
)
SELECT k.state, count(j.id)::int AS jobs, count(*)::int AS looked
  FROM looked AS k
  LEFT JOIN LATERAL (  -- OFFSET 0 keeps the planner from a join over the whole table
       SELECT j.id FROM ojs_job AS j
        WHERE j.id = k.id AND j.version IS NULL AND j.type = %(type)s::text OFFSET 0) AS j ON true
 GROUP BY k.state
