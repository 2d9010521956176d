-- signal: store a signal for a live job that the caller has locked, if fewer than `most` wait.
-- Returns whether the job is suspended until a signal of this name.
WITH sent AS (
    INSERT INTO ojs_signal (job_id, name, payload, sender)
    SELECT %(id)s::uuid, %(name)s::text, %(payload)s::text, %(sender)s::text
     WHERE (SELECT count(*) FROM ojs_signal AS s WHERE s.job_id = %(id)s::uuid) < %(most)s::int
    RETURNING id, sent_at
), woken AS (
    UPDATE ojs_wait AS w SET is_woken = true
      FROM sent WHERE w.job_id = %(id)s::uuid AND %(name)s::text = ANY (w.signals)
                  AND EXISTS (SELECT 1 FROM ojs_later AS x
                               WHERE x.id = w.job_id AND x.kind = 1 AND x.due_at > now())
    RETURNING w.job_id
)
SELECT s.id, s.sent_at, EXISTS (SELECT 1 FROM woken) FROM sent AS s
