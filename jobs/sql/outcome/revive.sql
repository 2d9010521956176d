-- revive: ended -> available by hand or rule. Attempts start again at 1, without progress of the
-- earlier attempts. The error history stays, and a checkpoint as long as the args stay the same.
-- `jobs` is one JSON array; `states` are the accepted states: a job that is in another state by
-- now, or gone, is not returned.
-- Locks: the job rows, in id order; their state is the guard. Then the locks of ojs_wake.
WITH wanted AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(jobs)s::json)
        AS w (id uuid, lane_id bigint, priority smallint, args jsonb, meta jsonb, attributes jsonb,
              max_attempts int, rule text)
), held AS MATERIALIZED (
    SELECT j.id, j.queue, j.state, j.finished_at, j AS job
      FROM ojs_job AS j
     WHERE j.id = ANY (ARRAY(SELECT id FROM wanted)) AND j.state = ANY (%(states)s::int[])
     ORDER BY j.id FOR UPDATE
), chosen AS MATERIALIZED (
    SELECT w.*, h.queue AS left_queue, h.state AS left_state, h.finished_at AS ended_at,
           (SELECT l.queue FROM ojs_lane_key AS l WHERE l.id = w.lane_id) AS queue
      FROM wanted AS w JOIN held AS h ON h.id = w.id
), stored AS (
    UPDATE ojs_job AS j
       SET state = NULL, attempt = 0, error = NULL, finished_at = NULL, ran = false,
           dead_letter = NULL, retry_delay_ms = NULL, started_at = NULL, expires_at = NULL,
           result = NULL, enqueued_at = now(), lane_id = c.lane_id,
           queue = coalesce(c.queue, j.queue),
           priority = c.priority, args = coalesce(c.args, j.args), meta = coalesce(c.meta, j.meta),
           attributes = CASE WHEN c.args IS NULL THEN j.attributes
                             ELSE j.attributes - 'last_checkpoint' END
                        || coalesce(c.attributes, '{}'),
           bytes = CASE WHEN c.args IS NULL AND c.meta IS NULL THEN j.bytes
                        ELSE octet_length(coalesce(c.args, j.args)::text)
                           + octet_length(coalesce(c.meta, j.meta)::text)
                           + octet_length(j.attributes::text) END,
           max_attempts = coalesce(c.max_attempts, j.max_attempts)
      FROM chosen AS c
     WHERE j.id = c.id
    RETURNING j.id, j.queue, j.type, j.tenant, j.lane_id, j.priority, j.bytes, c.left_queue,
              c.left_state, c.ended_at, c.rule
), delisted AS (
    DELETE FROM ojs_finished AS f USING stored AS s
     WHERE f.queue = s.left_queue AND f.kind IN (6, 7, 8, 9) AND f.finished_at = s.ended_at
       AND f.id = s.id
), available AS (
    INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at)
    SELECT id, lane_id, 0, now() FROM stored ORDER BY ended_at, id
), unnoted AS (
    UPDATE ojs_unique AS u SET ended = NULL FROM stored AS s WHERE u.job_id = s.id
), forgotten AS (
    DELETE FROM ojs_progress AS p USING stored AS s WHERE p.job_id = s.id RETURNING p.*
), noted AS (
    INSERT INTO ojs_replay AS r (job_id, replays, last_at, rule, by_rule)
    SELECT id, 1, now(), rule,
           CASE WHEN rule IS NULL THEN '{}' ELSE jsonb_build_object(rule, 1) END
      FROM stored
    ON CONFLICT (job_id) DO UPDATE
       SET replays = r.replays + 1, last_at = now(), rule = excluded.rule,
           by_rule = CASE WHEN excluded.rule IS NULL THEN r.by_rule ELSE
               r.by_rule || jsonb_build_object(excluded.rule,
                   coalesce((r.by_rule ->> excluded.rule)::int, 0) + 1) END
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                           bytes, data)
    SELECT now(), k.kind, s.id, k.queue, s.type, s.tenant, k.from_state, k.to_state, 0,
           CASE k.to_state WHEN 3 THEN s.bytes END, k.data
      FROM stored AS s
     CROSS JOIN LATERAL (VALUES
           (1, 101, s.left_queue, s.left_state, NULL::int, NULL::jsonb),
           (2, 1, s.queue, NULL, 3, jsonb_build_object('priority', s.priority))
           ) AS k (n, kind, queue, from_state, to_state, data)
     ORDER BY s.id, k.n
/* kept */
)
SELECT s.id, (SELECT ojs_wake(array_agg(DISTINCT w.lane_id)) FROM stored AS w) AS woken
  FROM stored AS s
