-- undo_hasten: available -> retryable, due when it was due before hasten.sql. `jobs` is one JSON array
-- of id and lane. A job that was handed out since is not returned.
-- Locks: the waiting rows, in id order.
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(jobs)s::json) AS g (id uuid, lane bigint)
), held AS MATERIALIZED (
    SELECT a.id, g.lane, u.due_at
      FROM given AS g
      JOIN ojs_undo_job AS u ON u.undo_id = %(undo)s::bigint AND u.job_id = g.id
      JOIN ojs_ready AS a ON a.id = g.id
     WHERE a.enqueued_at = u.left_at AND a.attempt = u.attempt AND u.left_state = 3 AND u.was = 5
     ORDER BY a.id FOR UPDATE OF a
), ended AS (
    DELETE FROM ojs_ready AS a USING held AS h WHERE a.id = h.id
    RETURNING a.id, a.attempt, a.expires_at, h.lane, h.due_at
), again AS (
    INSERT INTO ojs_later (id, kind, due_at, lane_id, attempt, expires_at)
    SELECT id, 5, due_at, lane, attempt, expires_at FROM ended ORDER BY id
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt)
    SELECT now(), 104, e.id, j.queue, j.type, j.tenant, 3, 5, e.attempt
      FROM ended AS e JOIN ojs_job AS j ON j.id = e.id
)
SELECT id FROM ended
