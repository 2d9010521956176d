-- newest: ids of jobs in any state, newest id first, by filter.
-- At most `looked` rows are read; `rest` as in live.sql.
WITH looked AS MATERIALIZED (
    SELECT j.id, j.queue, j.tenant, j.type FROM ojs_job AS j
     WHERE %(before)s::uuid IS NULL OR j.id < %(before)s::uuid
     ORDER BY j.id DESC LIMIT %(looked)s::int
), found AS (
    SELECT k.id FROM looked AS k
     WHERE (%(queue)s::text IS NULL OR k.queue = %(queue)s::text)
       AND (%(tenant)s::text IS NULL OR k.tenant = %(tenant)s::text)
       AND (%(type)s::text IS NULL OR k.type LIKE %(type)s::text)
     ORDER BY k.id DESC LIMIT %(size)s::int
)
SELECT array(SELECT f.id FROM found AS f ORDER BY f.id DESC) AS ids,
       CASE WHEN (SELECT count(*) FROM looked) >= %(looked)s::int
            THEN (SELECT k.id FROM looked AS k ORDER BY k.id LIMIT 1) END AS rest
