-- progress: store the progress of a running attempt and extend its lease like a heartbeat.
-- A lower number than before in the same attempt does not replace it; message and data are stored, a
-- checkpoint until the next one. The last report of an earlier attempt goes into the history.
-- The lease is written only when less than two thirds of it are left, an event at most once a second.
-- The report is a sign of life of the worker, see ojs_heard.
-- Locks: the lease; then the locks of ojs_heard.
WITH held AS MATERIALIZED (
    SELECT l.id, l.attempt, l.worker_id,
           l.lease_until < now() + l.lease_ms * 2 / 3 * interval '1 millisecond' AS is_short
      FROM ojs_lease AS l
     WHERE l.id = %(id)s::uuid
       AND (%(worker_id)s::text IS NULL OR l.worker_id IS NULL OR l.worker_id = %(worker_id)s::text)
       FOR NO KEY UPDATE
), extended AS (
    UPDATE ojs_lease AS l SET lease_until = now() + l.lease_ms * interval '1 millisecond'
      FROM held AS h WHERE l.id = h.id AND h.is_short
), before AS (
    SELECT p.progress FROM ojs_progress AS p JOIN held AS h ON h.id = p.job_id
     WHERE p.job_id = %(id)s::uuid AND p.attempt = h.attempt
), stored AS (
    INSERT INTO ojs_progress AS p (job_id, attempt, progress, message, data, checkpoint,
                                   updated_at, told_at)
    SELECT h.id, h.attempt, %(progress)s::float8, %(message)s::text, %(data)s::jsonb,
           %(checkpoint)s::jsonb, now(), now()
      FROM held AS h
    ON CONFLICT (job_id) DO UPDATE
       SET progress = CASE WHEN p.attempt = excluded.attempt
                           THEN greatest(p.progress, excluded.progress)
                           ELSE excluded.progress END,
           message = excluded.message, data = excluded.data, attempt = excluded.attempt,
           checkpoint = CASE WHEN p.attempt = excluded.attempt
                             THEN coalesce(excluded.checkpoint, p.checkpoint)
                             ELSE excluded.checkpoint END,
           history = CASE WHEN p.attempt IN (0, excluded.attempt) THEN p.history ELSE
               CASE WHEN jsonb_array_length(coalesce(p.history, '[]')) < 25
                    THEN coalesce(p.history, '[]') ELSE p.history - 0 END
               || jsonb_build_object('attempt', p.attempt, 'progress', p.progress,
                      'message', p.message, 'data', p.data, 'updated_at', ojs_time(p.updated_at))
               END,
           updated_at = now(), is_watched = true, stalled_at = NULL,
           told_at = CASE WHEN p.attempt = excluded.attempt
                           AND p.told_at > now() - interval '1 second'
                          THEN p.told_at ELSE now() END
    RETURNING p.job_id, p.attempt, p.progress, p.message, p.told_at = now() AS is_told
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, attempt, worker_id, data)
    SELECT now(), k.kind, s.job_id, j.queue, j.type, j.tenant, s.attempt, h.worker_id,
           jsonb_build_object('progress_percent', round((s.progress * 100)::numeric),
                              'progress_message', s.message)
      FROM stored AS s JOIN held AS h ON h.id = s.job_id JOIN ojs_job AS j ON j.id = s.job_id
     CROSS JOIN LATERAL (VALUES
           (11, s.is_told),
           (83, s.progress = 1 AND coalesce((SELECT b.progress FROM before AS b), 0) < 1)
           ) AS k (kind, due)
     WHERE k.due
     ORDER BY k.kind
)
SELECT s.job_id,
       (SELECT ojs_heard(array_agg(h.worker_id), %(heard_ms)s::bigint) FROM held AS h) AS heard
  FROM stored AS s
