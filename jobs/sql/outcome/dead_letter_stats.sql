-- dead_letter_stats: how many jobs are in the dead letter, by queue, type and error, and since when.
-- At most `most` are counted per queue (retention keeps no more). Only the latest `looked` of all are
-- counted by type and error; a tenant's own jobs are counted among these.
WITH flagged AS MATERIALIZED (
    SELECT f.id, f.queue, f.finished_at FROM ojs_queue AS q
     CROSS JOIN LATERAL (
           SELECT f.id, f.queue, f.finished_at FROM ojs_finished AS f
            WHERE f.queue = q.name AND f.kind = 9
            ORDER BY f.finished_at DESC, f.id DESC LIMIT %(most)s::int) AS f
), looked AS MATERIALIZED (
    SELECT f.id, f.queue, f.finished_at FROM flagged AS f
     ORDER BY f.finished_at DESC, f.id DESC LIMIT %(looked)s::int
), known AS MATERIALIZED (
    SELECT k.queue, k.finished_at, j.type, j.error_type FROM looked AS k
     CROSS JOIN LATERAL (
           SELECT x.type, x.error ->> 'type' AS error_type FROM ojs_job AS x
            WHERE x.id = k.id AND (%(tenant)s::text IS NULL OR x.tenant = %(tenant)s::text)
           OFFSET 0) AS j
), counted AS (
    SELECT queue, finished_at FROM flagged WHERE %(tenant)s::text IS NULL
    UNION ALL SELECT queue, finished_at FROM known WHERE %(tenant)s::text IS NOT NULL
)
SELECT 'queue' AS dimension, queue AS name, count(*)::int AS jobs, min(finished_at) AS oldest_at,
       max(finished_at) AS newest_at
  FROM counted GROUP BY queue
UNION ALL
SELECT 'type', type, count(*)::int, min(finished_at), max(finished_at) FROM known GROUP BY type
UNION ALL
SELECT 'error_type', coalesce(error_type, ''), count(*)::int, min(finished_at), max(finished_at)
  FROM known GROUP BY error_type
UNION ALL
SELECT 'looked', '', count(*)::int, NULL, NULL FROM looked
 ORDER BY 1, 3 DESC, 2
