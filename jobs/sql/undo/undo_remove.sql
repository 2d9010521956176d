-- undo_remove: store deleted jobs again with all their rows, as remove.sql found them. The records then
-- name the state in which the jobs are now, so that a cancellation before the removal is undone next.
-- A job whose id is in use again is not stored.
WITH chosen AS MATERIALIZED (
    SELECT u.job_id, u.gone
      FROM ojs_undo_job AS u
     WHERE u.undo_id = %(undo)s::bigint AND u.job_id = ANY (%(ids)s::uuid[])
       AND u.left_state IS NULL AND u.gone IS NOT NULL
), stored AS (
    INSERT INTO ojs_job AS j
    SELECT (jsonb_populate_record(NULL::ojs_job, c.gone -> 'job')).* FROM chosen AS c
     ORDER BY c.job_id
    ON CONFLICT (id) DO NOTHING
    RETURNING j.id, j.queue, j.type, j.tenant, j.state, j.dead_letter, j.finished_at, j.attempt
), listed AS (
    INSERT INTO ojs_finished (queue, kind, finished_at, id)
    SELECT queue, CASE WHEN dead_letter THEN 9 ELSE state END, finished_at, id FROM stored
), marked AS (
    INSERT INTO ojs_unique
    SELECT (jsonb_populate_record(NULL::ojs_unique, c.gone -> 'unique')).*
      FROM chosen AS c JOIN stored AS s ON s.id = c.job_id
     WHERE jsonb_typeof(c.gone -> 'unique') = 'object'
), progress AS (
    INSERT INTO ojs_progress
    SELECT (jsonb_populate_record(NULL::ojs_progress, c.gone -> 'progress')).*
      FROM chosen AS c JOIN stored AS s ON s.id = c.job_id
     WHERE jsonb_typeof(c.gone -> 'progress') = 'object'
), replay AS (
    INSERT INTO ojs_replay
    SELECT (jsonb_populate_record(NULL::ojs_replay, c.gone -> 'replay')).*
      FROM chosen AS c JOIN stored AS s ON s.id = c.job_id
     WHERE jsonb_typeof(c.gone -> 'replay') = 'object'
), expiry AS (
    INSERT INTO ojs_result_expiry
    SELECT (jsonb_populate_record(NULL::ojs_result_expiry, c.gone -> 'expiry')).*
      FROM chosen AS c JOIN stored AS s ON s.id = c.job_id
     WHERE jsonb_typeof(c.gone -> 'expiry') = 'object'
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, to_state, attempt)
    SELECT now(), 104, id, queue, type, tenant, state, attempt FROM stored
), noted AS (
    UPDATE ojs_undo_job AS u
       SET left_state = s.state, left_at = s.finished_at, gone = NULL,
           image = coalesce(u.image, jsonb_build_object('nulls', u.gone -> 'nulls'))
      FROM stored AS s WHERE u.undo_id = %(undo)s::bigint AND u.job_id = s.id
)
SELECT id FROM stored
