-- sent: when jobs of a type were last sent, by version as sent, from the newest `looked` events; null:
-- without one. `kind`: 0 events of something else, 1 jobs that were sent, 2 such that are gone, of
-- which the version is not known. `oldest` and `newest` are of events. A job that was retried by hand
-- was sent when it was made.
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
