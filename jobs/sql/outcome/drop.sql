-- drop: available -> discarded for `ids`, because of a bound or a limit; not a dead letter.
-- Locks: the narrow rows, SKIP LOCKED: a concurrent claim wins.
WITH ready AS (
    DELETE FROM ojs_ready AS r
     USING (SELECT id FROM ojs_ready WHERE id = ANY (%(ids)s::uuid[])
             ORDER BY id FOR UPDATE SKIP LOCKED) AS s
     WHERE r.id = s.id
    RETURNING r.id, r.attempt, r.enqueued_at
), stored AS (
    UPDATE ojs_job AS j
       SET state = 8, attempt = e.attempt, finished_at = now(), ran = false, dead_letter = false,
           enqueued_at = e.enqueued_at,
           error = jsonb_build_object('type', %(code)s::text, 'code', %(code)s::text,
               'message', %(message)s::text, 'attempt', e.attempt, 'retryable', false,
               'occurred_at', ojs_time(now()))
      FROM ready AS e WHERE j.id = e.id
    RETURNING j.id, j.queue, j.type, j.tenant, j.attempt, j.error, j.watched, j.bytes
), listed AS (
    INSERT INTO ojs_finished (queue, kind, finished_at, id) SELECT queue, 8, now(), id FROM stored
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                           bytes, data)
    SELECT now(), k.kind, id, queue, type, tenant, k.before, k.after, attempt,
           CASE k.after WHEN 8 THEN -bytes END,
           jsonb_build_object('error', error, 'dead_letter', false)
      FROM stored
     CROSS JOIN (VALUES (%(kind)s::int, NULL::int, NULL::int), (7, 3, 8)) AS k (kind, before, after)
)
SELECT id, queue, type, tenant, attempt, 3 AS previous, watched FROM stored
