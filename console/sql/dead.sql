-- dead: the latest jobs of the dead letter, `looked` at most, with what groups them; null wants any
-- queue, tenant and type (a LIKE pattern), and any fingerprint.
-- Each queue is walked by the finished index from its newest end, and the walks are merged.
WITH looked AS MATERIALIZED (
    SELECT f.id, f.queue, f.finished_at
      FROM (SELECT q.name FROM ojs_queue AS q
             WHERE %(queue)s::text IS NULL OR q.name = %(queue)s::text) AS q
     CROSS JOIN LATERAL (
           SELECT f.id, f.queue, f.finished_at FROM ojs_finished AS f
            WHERE f.queue = q.name AND f.kind = 9
            ORDER BY f.finished_at DESC, f.id DESC LIMIT %(looked)s::int) AS f
     ORDER BY f.finished_at DESC, f.id DESC LIMIT %(looked)s::int
), known AS (
    SELECT k.id, k.finished_at, k.queue, j.type, j.tenant, j.version, j.error_type,
           ojs_fingerprint(j.type, j.error) AS fingerprint
      FROM looked AS k
     CROSS JOIN LATERAL (  -- OFFSET 0 keeps the planner from a join over the whole table
           SELECT x.type, x.tenant, x.version::jsonb #>> '{}' AS version, x.error,
                  coalesce(x.error ->> 'type', x.error ->> 'code') AS error_type
             FROM ojs_job AS x WHERE x.id = k.id OFFSET 0) AS j
     WHERE (%(tenant)s::text IS NULL OR j.tenant = %(tenant)s::text)
       AND (%(type)s::text IS NULL OR j.type LIKE %(type)s::text)
)
SELECT k.id::text, k.finished_at, k.queue, k.type, k.tenant, k.version, k.error_type, k.fingerprint,
       (SELECT count(*) FROM looked)::int AS looked, (SELECT min(finished_at) FROM looked) AS back_to
  FROM known AS k
 WHERE %(fingerprint)s::text IS NULL OR k.fingerprint = %(fingerprint)s::text
 ORDER BY k.finished_at DESC, k.id DESC
