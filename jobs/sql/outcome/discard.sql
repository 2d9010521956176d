-- discard: end waiting jobs whose `expires_at` has passed, at most `batch`.
-- A bound on an index has to be stable: with clock_timestamp() it would read every expiring row.
-- Locks: the narrow rows, SKIP LOCKED: a concurrent move wins.
WITH late_ready AS MATERIALIZED (
    SELECT id FROM ojs_ready WHERE expires_at <= statement_timestamp()
     ORDER BY expires_at LIMIT %(batch)s::int FOR UPDATE SKIP LOCKED
), late_later AS MATERIALIZED (
    SELECT id FROM ojs_later WHERE expires_at <= statement_timestamp()
     ORDER BY expires_at LIMIT %(batch)s::int FOR UPDATE SKIP LOCKED
), ready AS (
    DELETE FROM ojs_ready AS r WHERE r.id = ANY (ARRAY(SELECT id FROM late_ready))
    RETURNING r.id, 3 AS state, r.attempt, r.enqueued_at
), later AS (
    DELETE FROM ojs_later AS r WHERE r.id = ANY (ARRAY(SELECT id FROM late_later))
    RETURNING r.id, r.kind::int AS state, r.attempt, NULL::timestamptz AS enqueued_at
), ended AS (
    SELECT * FROM ready UNION ALL SELECT * FROM later
), stored AS (
    UPDATE ojs_job AS j
       SET state = 8, attempt = e.attempt, finished_at = now(), ran = false, dead_letter = false,
           enqueued_at = coalesce(e.enqueued_at, j.enqueued_at),
           error = jsonb_build_object('type', 'expired', 'code', 'expired',
               'message', 'the job expired before it could run', 'attempt', e.attempt,
               'retryable', false, 'occurred_at', ojs_time(now()))
      FROM ended AS e WHERE j.id = e.id
    RETURNING j.id, j.queue, j.type, j.tenant, j.attempt, e.state AS previous, j.created_at,
              j.expires_at, j.watched, j.bytes
), listed AS (
    INSERT INTO ojs_finished (queue, kind, finished_at, id) SELECT queue, 8, now(), id FROM stored
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                           bytes, data)
    SELECT now(), 8, id, queue, type, tenant, previous, 8, attempt, -bytes,
           jsonb_build_object('created_at', ojs_time(created_at), 'expired_at', ojs_time(now()),
               'ttl_ms', (extract(epoch FROM expires_at - created_at) * 1000)::bigint)
      FROM stored
)
SELECT s.id, s.queue, s.type, s.tenant, s.attempt, s.previous, s.watched FROM stored AS s
