-- dead: the latest dead jobs, at most `looked`, with the fields that group them. A null parameter
-- matches any queue, tenant, type (a LIKE pattern) or fingerprint. The end is in seconds since 1970,
-- because numbers are faster to read than times, and there are thousands of rows.
WITH looked AS MATERIALIZED (
    SELECT e.id, e.queue, e.finished_at
      FROM ojs_ends(%(queue)s::text, ARRAY[9]::smallint[], NULL, NULL, NULL, NULL, false,
                    %(looked)s::int) AS e
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
SELECT k.id::text, extract(epoch FROM k.finished_at)::float8, k.queue, k.type, k.tenant, k.version,
       k.error_type, k.fingerprint,
       (SELECT count(*) FROM looked)::int AS looked, (SELECT min(finished_at) FROM looked) AS back_to
  FROM known AS k
 WHERE %(fingerprint)s::text IS NULL OR k.fingerprint = %(fingerprint)s::text
 ORDER BY k.finished_at DESC, k.id DESC
