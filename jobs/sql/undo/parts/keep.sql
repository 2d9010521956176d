-- keep: the last part of each statement that operators can undo: store the rows of `before`, which the
-- part of the statement gives. A job that the operation has changed before keeps its first record.
-- Locks: the operation's row.
), kept AS (
    INSERT INTO ojs_undo_job AS u (undo_id, job_id, was, queue, priority, lane_id, seq, attempt, due_at,
                                   enqueued_at, expires_at, left_state, left_at, left_lane, image, gone)
    SELECT %(undo)s::bigint, b.id, b.was, b.queue, b.priority, b.lane_id, b.seq, b.attempt, b.due_at,
           b.enqueued_at, b.expires_at, b.left_state, now(), b.left_lane, b.image, b.gone
      FROM before AS b
    ON CONFLICT (undo_id, job_id) DO UPDATE
       SET left_state = excluded.left_state, left_at = excluded.left_at,
           left_lane = coalesce(excluded.left_lane, u.left_lane), gone = excluded.gone
    RETURNING (u.xmax = 0) AS is_new, pg_column_size(u.*) AS bytes
), counted AS (
    UPDATE ojs_undo AS o
       SET jobs = o.jobs + k.jobs, bytes = o.bytes + k.bytes, until = now() + interval '24 hours'
      FROM (SELECT count(*) FILTER (WHERE is_new) AS jobs, coalesce(sum(bytes), 0) AS bytes
              FROM kept) AS k
     WHERE o.id = %(undo)s::bigint
