-- undo_cancel: cancelled -> the waiting state that cancel.sql found, with its time and its position.
-- `jobs` is one JSON array of id and lane. A job that has changed since its end is not returned.
-- Locks: the job rows, in id order; then the locks of ojs_give_back.
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(jobs)s::json) AS g (id uuid, lane bigint)
), held AS MATERIALIZED (
    SELECT j.id, j.finished_at AS ended_at, g.lane, u.was, u.seq, u.attempt AS tries, u.due_at,
           u.enqueued_at AS offered_at, u.image
      FROM given AS g
      JOIN ojs_undo_job AS u ON u.undo_id = %(undo)s::bigint AND u.job_id = g.id
      JOIN ojs_job AS j ON j.id = g.id
     WHERE j.state = 7 AND j.finished_at = u.left_at AND u.left_state = 7 AND u.was IN (1, 2, 3, 5)
       AND (j.expires_at IS NULL OR j.expires_at > now())
     ORDER BY j.id FOR UPDATE OF j
), stored AS (
    UPDATE ojs_job AS j
       SET state = NULL, finished_at = NULL, lane_id = h.lane, ran = (h.image ->> 'ran')::boolean,
           attempt = (h.image ->> 'attempt')::int,
           enqueued_at = (h.image ->> 'enqueued_at')::timestamptz,
           started_at = (h.image ->> 'started_at')::timestamptz
      FROM held AS h WHERE j.id = h.id
    RETURNING j.id, j.queue, j.type, j.tenant, j.bytes, j.expires_at, h.ended_at, h.lane, h.was, h.seq,
              h.tries, h.due_at, h.offered_at
), delisted AS (
    DELETE FROM ojs_finished AS f USING stored AS s
     WHERE f.queue = s.queue AND f.kind = 7 AND f.finished_at = s.ended_at AND f.id = s.id
), ready AS (
    INSERT INTO ojs_ready (id, lane_id, seq, attempt, enqueued_at, expires_at)
    SELECT id, lane, coalesce(seq, nextval(pg_get_serial_sequence('ojs_ready', 'seq'))), tries,
           offered_at, expires_at
      FROM stored WHERE was = 3 ORDER BY seq
    RETURNING id, lane_id, seq
), later AS (
    INSERT INTO ojs_later (id, kind, due_at, lane_id, attempt, expires_at)
    SELECT id, was, due_at, lane, tries, expires_at FROM stored WHERE was <> 3 ORDER BY id
), unnoted AS (
    UPDATE ojs_unique AS u SET ended = NULL FROM stored AS s WHERE u.job_id = s.id
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt, bytes)
    SELECT now(), 104, id, queue, type, tenant, 7, was, tries, bytes FROM stored
)
SELECT s.id, (SELECT ojs_give_back('{}', '{}', array_agg(r.lane_id), array_agg(r.seq))
                FROM ready AS r) AS woken
  FROM stored AS s
