-- replayable: jobs in the dead letter that a rule retries now, oldest first, at most `batch`.
-- Each queue is read by the finished index from its oldest end, `looked` rows at most.
WITH aged AS MATERIALIZED (
    SELECT f.id, f.finished_at
      FROM (SELECT q.name FROM ojs_queue AS q
             WHERE %(queue)s::text IS NULL OR q.name = %(queue)s::text) AS q
     CROSS JOIN LATERAL (
           SELECT f.id, f.finished_at FROM ojs_finished AS f
            WHERE f.queue = q.name AND f.kind = 9
              AND f.finished_at <= now() - %(delay_ms)s::bigint * interval '1 millisecond'
            ORDER BY f.finished_at, f.id LIMIT %(looked)s::int) AS f
     ORDER BY f.finished_at, f.id LIMIT %(looked)s::int
)
SELECT a.id FROM aged AS a
 CROSS JOIN LATERAL (
       SELECT 1 FROM ojs_job AS j
        WHERE j.id = a.id
          AND (%(type)s::text IS NULL OR j.type LIKE %(type)s::text)
          AND (%(error_type)s::text IS NULL OR j.error ->> 'type' = %(error_type)s::text)
          AND (%(tenant)s::text IS NULL OR j.tenant = %(tenant)s::text)
       OFFSET 0) AS j
  LEFT JOIN LATERAL (
       SELECT (r.by_rule ->> %(rule)s::text)::int AS times FROM ojs_replay AS r
        WHERE r.job_id = a.id OFFSET 0) AS r ON true
 WHERE coalesce(r.times, 0) < %(max_replays)s::int
 ORDER BY a.finished_at, a.id LIMIT %(batch)s::int
