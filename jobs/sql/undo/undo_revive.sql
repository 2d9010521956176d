-- undo_revive: available -> the end that revive.sql found. A job that was handed out since, or that has
-- changed otherwise, is not returned.
-- Locks: the waiting rows, in id order; then the job rows.
WITH held AS MATERIALIZED (
    SELECT a.id FROM ojs_ready AS a
      JOIN ojs_undo_job AS u ON u.undo_id = %(undo)s::bigint AND u.job_id = a.id
     WHERE a.id = ANY (%(ids)s::uuid[]) AND a.attempt = 0 AND a.enqueued_at = u.left_at
       AND a.lane_id = u.left_lane AND u.left_state = 3 AND u.was IN (6, 7, 8)
     ORDER BY a.id FOR UPDATE OF a
), ended AS (
    DELETE FROM ojs_ready AS a USING held AS h WHERE a.id = h.id RETURNING a.id
), chosen AS MATERIALIZED (
    SELECT j.queue AS left_queue, j.bytes AS left_bytes, u.image, p.*
      FROM ended AS e
      JOIN ojs_undo_job AS u ON u.undo_id = %(undo)s::bigint AND u.job_id = e.id
      JOIN ojs_job AS j ON j.id = e.id
     CROSS JOIN LATERAL jsonb_populate_record(j, u.image -> 'job') AS p
), stored AS (
    UPDATE ojs_job AS j
       SET state = c.state, attempt = c.attempt, error = c.error, finished_at = c.finished_at,
           ran = c.ran, dead_letter = c.dead_letter, retry_delay_ms = c.retry_delay_ms,
           started_at = c.started_at, expires_at = c.expires_at, result = c.result,
           enqueued_at = c.enqueued_at, lane_id = c.lane_id, queue = c.queue, priority = c.priority,
           args = c.args, meta = c.meta, attributes = c.attributes, bytes = c.bytes,
           max_attempts = c.max_attempts
      FROM chosen AS c WHERE j.id = c.id
    RETURNING j.id, j.queue, j.type, j.tenant, j.state, j.dead_letter, j.finished_at, j.attempt,
              c.left_queue, c.left_bytes, c.image
), listed AS (
    INSERT INTO ojs_finished (queue, kind, finished_at, id)
    SELECT queue, CASE WHEN dead_letter THEN 9 ELSE state END, finished_at, id FROM stored
), progress AS (
    INSERT INTO ojs_progress
    SELECT (jsonb_populate_record(NULL::ojs_progress, s.image -> 'progress')).* FROM stored AS s
     WHERE jsonb_typeof(s.image -> 'progress') = 'object'
    ON CONFLICT (job_id) DO NOTHING
), recounted AS (
    UPDATE ojs_replay AS r SET replays = r.replays - 1
      FROM stored AS s WHERE r.job_id = s.id AND r.replays > 1
), forgotten AS (
    DELETE FROM ojs_replay AS r USING stored AS s WHERE r.job_id = s.id AND r.replays <= 1
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt, bytes)
    SELECT now(), k.kind, s.id, k.queue, s.type, s.tenant, k.from_state, k.to_state, s.attempt, k.bytes
      FROM stored AS s
     CROSS JOIN LATERAL (VALUES (102, s.left_queue, 3, NULL::int, -s.left_bytes),
                                (104, s.queue, NULL, s.state::int, NULL)
                        ) AS k (kind, queue, from_state, to_state, bytes)
     ORDER BY s.id, k.kind
)
SELECT id FROM stored
