-- pick_ended: up to `size` ended jobs by filter, that had ended before `at`, latest end first; `kind` as
-- in ojs_finished. At most `looked` rows are read: see ojs_ends; `rest_at`, `rest` are where to
-- continue, null at the end.
WITH looked AS MATERIALIZED (
    SELECT e.id, e.finished_at
      FROM ojs_ends(%(queue)s::text, ARRAY[%(kind)s::smallint], NULL, NULL, %(at)s::timestamptz,
                    %(before)s::uuid, false, %(looked)s::int) AS e
), found AS (
    SELECT k.id, k.finished_at
      FROM looked AS k
     CROSS JOIN LATERAL (  -- OFFSET 0 keeps the planner from a join over the whole table
           SELECT j.tenant, j.priority, j.type, j.meta, j.error,
                  coalesce(j.enqueued_at, j.created_at) AS enqueued_at
             FROM ojs_job AS j WHERE j.id = k.id OFFSET 0) AS j
     WHERE (%(tenant)s::text IS NULL OR j.tenant = %(tenant)s::text)
       AND (%(priority)s::int IS NULL OR j.priority = %(priority)s::int)
       AND (%(since)s::timestamptz IS NULL OR j.enqueued_at >= %(since)s::timestamptz)
       AND (%(until)s::timestamptz IS NULL OR j.enqueued_at < %(until)s::timestamptz)
       AND (%(type)s::text IS NULL OR j.type LIKE %(type)s::text)
       AND (%(meta)s::jsonb IS NULL OR j.meta @> %(meta)s::jsonb)
       AND (%(error_type)s::text IS NULL OR j.error ->> 'type' = %(error_type)s::text)
     ORDER BY k.finished_at DESC, k.id DESC LIMIT %(size)s::int
), place AS (
    SELECT p.id, p.finished_at
      FROM (SELECT f.id, f.finished_at FROM found AS f
             WHERE (SELECT count(*) FROM found) >= %(size)s::int
            UNION ALL
            SELECT k.id, k.finished_at FROM looked AS k
             WHERE (SELECT count(*) FROM found) < %(size)s::int
               AND (SELECT count(*) FROM looked) >= %(looked)s::int) AS p
     ORDER BY p.finished_at, p.id LIMIT 1
)
SELECT array(SELECT f.id FROM found AS f ORDER BY f.finished_at DESC, f.id DESC) AS ids,
       (SELECT finished_at FROM place) AS rest_at, (SELECT id FROM place) AS rest
