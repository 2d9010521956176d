-- ended: ids of ended jobs by kind (terminal codes, 9 for the dead letter), latest end first.
-- Each queue is walked by the finished index from its newest end, and the walks are merged; at
-- most `looked` rows are read per queue; `rest` as in live.sql, with the time of the end.
WITH looked AS MATERIALIZED (
    SELECT f.id, f.finished_at
      FROM (SELECT q.name FROM ojs_queue AS q
             WHERE %(queue)s::text IS NULL OR q.name = %(queue)s::text) AS q
     CROSS JOIN unnest(%(kinds)s::smallint[]) AS k (kind)
     CROSS JOIN LATERAL (
           SELECT f.id, f.finished_at FROM ojs_finished AS f
            WHERE f.queue = q.name AND f.kind = k.kind
              AND (%(at)s::timestamptz IS NULL
                   OR (f.finished_at, f.id) < (%(at)s::timestamptz, %(before)s::uuid))
            ORDER BY f.finished_at DESC, f.id DESC LIMIT %(looked)s::int) AS f
     ORDER BY f.finished_at DESC, f.id DESC LIMIT %(looked)s::int
), found AS (
    SELECT k.id, k.finished_at FROM looked AS k
     WHERE %(type)s::text IS NULL AND %(tenant)s::text IS NULL AND %(error_type)s::text IS NULL
        OR EXISTS (SELECT 1 FROM ojs_job AS j WHERE j.id = k.id
               AND (%(type)s::text IS NULL OR j.type LIKE %(type)s::text)
               AND (%(tenant)s::text IS NULL OR j.tenant = %(tenant)s::text)
               AND (%(error_type)s::text IS NULL OR j.error ->> 'type' = %(error_type)s::text))
     ORDER BY k.finished_at DESC, k.id DESC LIMIT %(size)s::int
), last AS (
    SELECT k.id, k.finished_at FROM looked AS k
     WHERE (SELECT count(*) FROM looked) >= %(looked)s::int
     ORDER BY k.finished_at, k.id LIMIT 1
)
SELECT array(SELECT f.id FROM found AS f ORDER BY f.finished_at DESC, f.id DESC) AS ids,
       (SELECT id FROM last) AS rest, (SELECT finished_at FROM last) AS rest_at
