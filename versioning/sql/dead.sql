-- dead: jobs of a type in the dead letter by version, as sent; null: without a version.
-- Up to `looked` jobs are read; the row without `is_found` counts jobs of other types.
SELECT coalesce(j.id IS NOT NULL, false) AS is_found, j.version, count(*)::int AS jobs
  FROM (SELECT f.id FROM ojs_queue AS q
         CROSS JOIN LATERAL (
               SELECT f.id FROM ojs_finished AS f
                WHERE f.queue = q.name AND f.kind = 9
                ORDER BY f.finished_at DESC, f.id DESC LIMIT %(looked)s::int) AS f
         LIMIT %(looked)s::int) AS f
  LEFT JOIN LATERAL (
       SELECT j.id, j.version FROM ojs_job AS j
        WHERE j.id = f.id AND split_part(j.type, '@', 1) = %(type)s::text OFFSET 0) AS j ON true
 GROUP BY 1, 2
