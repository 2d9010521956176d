-- page: workflows that are not nested, newest first, with the total of the list up to `most`.
-- Each state is read by its index from the newest end, once to count, and once behind `before` for the
-- page. So pages exist beyond the counted total.
WITH counted AS MATERIALIZED (
    SELECT f.id
      FROM unnest(%(states)s::smallint[]) AS s (state)
     CROSS JOIN LATERAL (
           SELECT w.id FROM ojs_workflow AS w
            WHERE w.parent_id IS NULL AND w.state = s.state
              AND %(tenant)s::text IS NULL
            ORDER BY w.id DESC LIMIT %(most)s::int) AS f
     UNION ALL
    SELECT f.id
      FROM unnest(%(states)s::smallint[]) AS s (state)
     CROSS JOIN LATERAL (
           SELECT w.id FROM ojs_workflow AS w
            WHERE w.parent_id IS NULL AND w.state = s.state AND w.tenant = %(tenant)s::text
            ORDER BY w.id DESC LIMIT %(most)s::int) AS f
), behind AS (
    SELECT coalesce(%(before)s::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS id
), chosen AS (
    SELECT f.id
      FROM (SELECT f.id
              FROM unnest(%(states)s::smallint[]) AS s (state)
             CROSS JOIN LATERAL (
                   SELECT w.id FROM ojs_workflow AS w
                    WHERE w.parent_id IS NULL AND w.state = s.state
                      AND w.id < (SELECT b.id FROM behind AS b) AND %(tenant)s::text IS NULL
                    ORDER BY w.id DESC LIMIT %(offset)s::int + %(limit)s::int) AS f
             UNION ALL
            SELECT f.id
              FROM unnest(%(states)s::smallint[]) AS s (state)
             CROSS JOIN LATERAL (
                   SELECT w.id FROM ojs_workflow AS w
                    WHERE w.parent_id IS NULL AND w.state = s.state
                      AND w.id < (SELECT b.id FROM behind AS b) AND w.tenant = %(tenant)s::text
                    ORDER BY w.id DESC LIMIT %(offset)s::int + %(limit)s::int) AS f) AS f
     ORDER BY f.id DESC OFFSET %(offset)s::int LIMIT %(limit)s::int
)
SELECT t.total, w.id, w.root_id, w.parent_id, w.parent_step, w.parent_job_id, w.kind, w.state,
       w.name, w.tenant, w.members, w.completed + coalesce(c.completed, 0) AS completed,
       w.failed + coalesce(c.failed, 0) AS failed, w.created_at, w.started_at, w.finished_at
  FROM (SELECT least(count(*), %(most)s::int)::int AS total FROM counted) AS t
  LEFT JOIN chosen AS h ON true
  LEFT JOIN ojs_workflow AS w ON w.id = h.id
  LEFT JOIN LATERAL (
       SELECT sum(c.completed)::int AS completed, sum(c.failed)::int AS failed
         FROM ojs_workflow_slot AS c
        WHERE c.workflow_id = w.id AND c.target = -1 AND c.open > 0) AS c ON w.slots > 0
 ORDER BY w.id DESC
