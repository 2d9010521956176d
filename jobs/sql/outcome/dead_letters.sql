-- dead_letters: discarded jobs by filter, newest first; `kinds` 9 is flagged, 8 is not; `type` and
-- `text` are LIKE patterns.
-- Each queue is read by the finished index from its newest end; `total` stops at `most`.
WITH found AS (
    SELECT f.id, f.finished_at
      FROM (SELECT q.name FROM ojs_queue AS q
             WHERE %(queue)s::text IS NULL OR q.name = %(queue)s::text) AS q
     CROSS JOIN unnest(%(kinds)s::smallint[]) AS k (kind)
     CROSS JOIN LATERAL (
           SELECT f.id, f.finished_at FROM ojs_finished AS f
            WHERE f.queue = q.name AND f.kind = k.kind
              AND (%(since)s::timestamptz IS NULL OR f.finished_at >= %(since)s::timestamptz)
              AND (%(before)s::timestamptz IS NULL OR f.finished_at < %(before)s::timestamptz)
              AND (%(type)s::text IS NULL AND %(error_type)s::text IS NULL
                   AND %(tenant)s::text IS NULL AND %(text)s::text IS NULL
                   OR EXISTS (SELECT 1 FROM ojs_job AS j WHERE j.id = f.id
                       AND (%(type)s::text IS NULL OR j.type LIKE %(type)s::text)
                       AND (%(text)s::text IS NULL OR j.type ILIKE %(text)s::text
                            OR j.error ->> 'message' ILIKE %(text)s::text)
                       AND (%(error_type)s::text IS NULL
                            OR j.error ->> 'type' = %(error_type)s::text)
                       AND (%(tenant)s::text IS NULL OR j.tenant = %(tenant)s::text)))
            ORDER BY f.finished_at DESC, f.id DESC LIMIT %(most)s::int) AS f
)
SELECT f.id, (SELECT count(*) FROM (SELECT 1 FROM found LIMIT %(most)s::int) AS c)::int AS total
  FROM found AS f ORDER BY f.finished_at DESC, f.id DESC
OFFSET %(offset)s::int LIMIT %(limit)s::int
