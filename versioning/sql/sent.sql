-- sent: when jobs of a type were last sent, by version as sent, from the newest `looked` events.
-- Null: without a version. `kind`: 0 other events, 1 sent jobs, 2 sent jobs that are deleted, whose
-- version is unknown. `oldest` and `newest` are of events. A job that was retried manually was sent at
-- its creation.
SELECT CASE WHEN NOT s.is_sent THEN 0 WHEN j.created_at IS NULL THEN 2 ELSE 1 END AS kind, j.version,
       max(j.created_at) AS last_at, min(e.at) AS oldest, max(e.at) AS newest,
       count(*)::int AS events, now()
  FROM (SELECT e.job_id, e.kind, e.type, e.at FROM ojs_event AS e
         ORDER BY e.stamp DESC, e.seq DESC LIMIT %(looked)s::int) AS e
 CROSS JOIN LATERAL (
       SELECT e.kind IN (1, 2) AND e.job_id IS NOT NULL
              AND split_part(e.type, '@', 1) = %(type)s::text AS is_sent) AS s
  LEFT JOIN LATERAL (
       SELECT j.version, j.created_at FROM ojs_job AS j
        WHERE j.id = e.job_id AND s.is_sent OFFSET 0) AS j ON true
 GROUP BY 1, 2
