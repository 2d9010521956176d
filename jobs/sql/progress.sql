-- progress: store the progress of a running attempt and extend its lease like a heartbeat.
-- A lower number than before in the same attempt keeps the number; message and data are stored.
-- Locks: the lease.
WITH held AS (
    UPDATE ojs_lease AS l
       SET lease_until = greatest(l.lease_until,
                                  now() + l.lease_ms * interval '1 millisecond')
     WHERE l.id = %(id)s::uuid
       AND (%(worker_id)s::text IS NULL OR l.worker_id IS NULL OR l.worker_id = %(worker_id)s::text)
    RETURNING l.id, l.attempt, l.worker_id
), stored AS (
    INSERT INTO ojs_progress AS p (job_id, attempt, progress, message, data, updated_at)
    SELECT h.id, h.attempt, %(progress)s::float8, %(message)s::text, %(data)s::jsonb, now()
      FROM held AS h
    ON CONFLICT (job_id) DO UPDATE
       SET progress = CASE WHEN p.attempt = excluded.attempt
                           THEN greatest(p.progress, excluded.progress)
                           ELSE excluded.progress END,
           message = excluded.message, data = excluded.data, attempt = excluded.attempt,
           updated_at = now()
    RETURNING p.job_id, p.attempt, p.progress, p.message
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, attempt, worker_id, data)
    SELECT now(), 11, s.job_id, j.queue, j.type, j.tenant, s.attempt, h.worker_id,
           jsonb_build_object('progress_percent', round((s.progress * 100)::numeric),
                              'progress_message', s.message)
      FROM stored AS s JOIN held AS h ON h.id = s.job_id JOIN ojs_job AS j ON j.id = s.job_id
)
SELECT job_id FROM stored
