-- fail: end attempts that failed, as decided: to retryable, back to available, or discarded.
-- `failures` is one JSON array; id and attempt guard the change, so an attempt fails once.
-- `state` 5 waits delay_ms; 3 is an attempt that was lost (lease, worker) and runs again at once; 8 is
-- final. The error gets the database's time and joins the history, which keeps the latest 25.
-- A lost attempt keeps the job's position in its lane: see ADR 25. With `overdue` the attempt fails only
-- if its lease or its time is still over: a heartbeat may have come meanwhile.
-- `heard_ms`: the request came from its worker, a sign of life (see ojs_heard); null: from the server.
-- Locks: the leases, in id order; then the locks of ojs_give_back and ojs_heard.
WITH failure AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(failures)s::json)
        AS f (id uuid, worker_id text, attempt int, state smallint, delay_ms bigint,
              dead_letter boolean, error jsonb, overdue boolean)
), held AS MATERIALIZED (
    SELECT l.id, f.state, f.delay_ms, f.dead_letter,
           f.error || jsonb_build_object('occurred_at', ojs_time(now())) AS error
      FROM ojs_lease AS l JOIN failure AS f ON f.id = l.id AND f.attempt = l.attempt
     WHERE l.id = ANY (ARRAY(SELECT id FROM failure))  -- the planner estimates a hundred rows
       AND (f.worker_id IS NULL OR l.worker_id IS NULL OR l.worker_id = f.worker_id)
       AND (f.overdue IS NOT TRUE OR l.due_at <= clock_timestamp())
     ORDER BY l.id FOR UPDATE OF l
), ended AS (
    DELETE FROM ojs_lease AS l USING held AS h WHERE l.id = h.id
    RETURNING l.id, l.lane_id, l.seq, l.limits, l.attempt, l.enqueued_at, l.started_at,
              l.worker_id, h.state, h.delay_ms, h.dead_letter, h.error,
              (SELECT p.checkpoint FROM ojs_progress AS p
                WHERE p.job_id = l.id AND p.attempt = l.attempt) AS checkpoint
), stored AS (
    UPDATE ojs_job AS j
       SET attempt = e.attempt,
           enqueued_at = CASE WHEN e.state = 3 THEN now() ELSE e.enqueued_at END,
           started_at = CASE WHEN e.state <> 3 THEN e.started_at END,
           error = e.error,
           attributes = CASE WHEN e.checkpoint IS NULL THEN j.attributes ELSE
               j.attributes || jsonb_build_object('last_checkpoint', e.checkpoint) END,
           errors = CASE WHEN jsonb_array_length(coalesce(j.errors, '[]')) < 25
                         THEN coalesce(j.errors, '[]') ELSE j.errors - 0 END || e.error,
           retry_delay_ms = coalesce(e.delay_ms, j.retry_delay_ms),
           state = CASE WHEN e.state = 8 THEN 8 END,
           finished_at = CASE WHEN e.state = 8 THEN greatest(now(), e.started_at) END,
           ran = e.state = 8,
           dead_letter = CASE WHEN e.state = 8 THEN e.dead_letter END
      FROM ended AS e WHERE j.id = e.id
    RETURNING j.id, j.queue, j.type, j.tenant, e.lane_id, e.seq, j.attempt, j.max_attempts, e.state,
              j.finished_at, e.started_at, e.worker_id, e.error, e.delay_ms, j.dead_letter,
              j.expires_at, j.bytes, now() + e.delay_ms * interval '1 millisecond' AS due_at
), again AS (
    INSERT INTO ojs_ready (id, lane_id, seq, attempt, enqueued_at, expires_at)
    SELECT id, lane_id, coalesce(seq, nextval(pg_get_serial_sequence('ojs_ready', 'seq'))), attempt,
           now(), expires_at
      FROM stored WHERE state = 3 ORDER BY id
), waiting AS (
    INSERT INTO ojs_later (id, kind, due_at, lane_id, attempt, expires_at)
    SELECT id, 5, due_at, lane_id, attempt, expires_at FROM stored WHERE state = 5
), listed AS (
    INSERT INTO ojs_finished (queue, kind, finished_at, id)
    SELECT queue, CASE WHEN dead_letter THEN 9 ELSE 8 END, finished_at, id
      FROM stored WHERE state = 8
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                           bytes, worker_id, took_ms, data)
    SELECT now(), k.kind, s.id, s.queue, s.type, s.tenant,
           CASE WHEN k.moves THEN 4 END, CASE WHEN k.moves THEN s.state END, s.attempt,
           CASE WHEN k.moves AND s.state <> 8 THEN s.bytes END, s.worker_id, CASE WHEN k.kind = 5 THEN
               greatest(0, extract(epoch FROM now() - s.started_at) * 1000)::bigint END,
           jsonb_build_object('error', s.error - 'backtrace' - 'details')
               || CASE k.kind WHEN 6 THEN jsonb_build_object('max_attempts', s.max_attempts,
                                          'next_retry_at', ojs_time(s.due_at))
                              WHEN 7 THEN jsonb_build_object('dead_letter', s.dead_letter,
                                          'max_attempts', s.max_attempts)
                              ELSE '{}' END
      FROM stored AS s
     CROSS JOIN LATERAL (VALUES (5, false, 1),
                                (CASE s.state WHEN 5 THEN 6 WHEN 8 THEN 7 ELSE 100 END, true, 2)
                        ) AS k (kind, moves, n)
     ORDER BY s.id, k.n
)
SELECT s.id, s.state, s.attempt, s.max_attempts, s.due_at, s.delay_ms, s.finished_at,
       s.dead_letter, s.queue, s.type, s.tenant,
       (SELECT ojs_give_back(
                   array_agg(e.id),
                   ARRAY(SELECT DISTINCT m FROM ended AS x CROSS JOIN LATERAL unnest(x.limits) AS m),
                   coalesce(array_agg(e.lane_id) FILTER (WHERE e.state = 3), '{}'),
                   coalesce(array_agg(e.seq) FILTER (WHERE e.state = 3), '{}'))
          FROM ended AS e) AS returned,
       (SELECT ojs_heard(array_agg(e.worker_id), %(heard_ms)s::bigint) FROM ended AS e
         WHERE e.started_at < now() - %(heard_ms)s::bigint * interval '1 millisecond') AS heard
  FROM stored AS s
