-- revive: discarded -> available by hand. Attempts start anew, without the progress of the old ones;
-- the error history stays.
-- Locks: the job row; its state is the guard. Then those of ojs_wake.
WITH stored AS (
    UPDATE ojs_job AS j
       SET state = NULL, attempt = 0, error = NULL, finished_at = NULL, ran = false,
           dead_letter = NULL, retry_delay_ms = NULL, started_at = NULL, expires_at = NULL,
           enqueued_at = now(), lane_id = %(lane_id)s::bigint, queue = l.queue,
           priority = %(priority)s::smallint,
           args = coalesce(%(args)s::jsonb, j.args), meta = coalesce(%(meta)s::jsonb, j.meta),
           attributes = j.attributes || coalesce(%(attributes)s::jsonb, '{}'),
           max_attempts = coalesce(%(max_attempts)s::int, j.max_attempts)
      FROM ojs_lane AS l
     WHERE j.id = %(id)s::uuid AND j.state = 8 AND l.id = %(lane_id)s::bigint
    RETURNING j.id, j.queue, j.type, j.tenant, j.lane_id, j.priority
), delisted AS (
    DELETE FROM ojs_finished AS f
     WHERE f.queue = %(queue)s::text AND f.kind IN (8, 9)
       AND f.finished_at = %(finished_at)s::timestamptz AND f.id IN (SELECT id FROM stored)
), available AS (
    INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at)
    SELECT id, lane_id, 0, now() FROM stored
), forgotten AS (
    DELETE FROM ojs_progress AS p USING stored AS s WHERE p.job_id = s.id
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                           data)
    SELECT now(), k.kind, id, k.queue, type, tenant, k.from_state, k.to_state, 0, k.data
      FROM stored AS s
     CROSS JOIN LATERAL (VALUES
           (101, %(queue)s::text, 8, NULL::int, NULL::jsonb),
           (1, s.queue, NULL, 3, jsonb_build_object('priority', s.priority))
           ) AS k (kind, queue, from_state, to_state, data)
)
SELECT s.id, (SELECT ojs_wake(array_agg(w.lane_id)) FROM stored AS w) AS woken FROM stored AS s
