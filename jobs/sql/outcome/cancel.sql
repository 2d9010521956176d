-- cancel: end jobs that wait or, if `active`, run; `ids` in any live state. A job that moves
-- between two narrow rows meanwhile is not found: the caller calls again. `watched` false leaves
-- watched jobs out, as in complete.sql.
-- Locks: the narrow rows, in id order per table; then the locks of ojs_release.
WITH given AS MATERIALIZED (
    SELECT g.id FROM unnest(%(ids)s::uuid[]) AS g (id)
     WHERE %(watched)s::boolean OR NOT (SELECT j.watched FROM ojs_job AS j WHERE j.id = g.id)
), ready AS (
    DELETE FROM ojs_ready AS r USING (SELECT id FROM ojs_ready
         WHERE id = ANY (ARRAY(SELECT id FROM given)) ORDER BY id FOR UPDATE) AS s WHERE r.id = s.id
    RETURNING r.id, 3 AS state, r.attempt, r.enqueued_at, NULL::timestamptz AS started_at,
              NULL::text AS worker_id, r.lane_id, r.seq, NULL::timestamptz AS due_at, r.expires_at
), later AS (
    DELETE FROM ojs_later AS r USING (SELECT id FROM ojs_later
         WHERE id = ANY (ARRAY(SELECT id FROM given)) ORDER BY id FOR UPDATE) AS s WHERE r.id = s.id
    RETURNING r.id, r.kind::int AS state, r.attempt, NULL::timestamptz AS enqueued_at,
              NULL::timestamptz AS started_at, NULL::text AS worker_id, r.lane_id,
              NULL::bigint AS seq, r.due_at, r.expires_at
), lease AS (
    DELETE FROM ojs_lease AS r USING (SELECT id FROM ojs_lease
         WHERE id = ANY (ARRAY(SELECT id FROM given)) AND %(active)s::boolean
         ORDER BY id FOR UPDATE) AS s WHERE r.id = s.id
    RETURNING r.id, 4 AS state, r.attempt, r.enqueued_at, r.started_at, r.worker_id, r.lane_id,
              r.limits, r.seq, NULL::timestamptz AS due_at, NULL::timestamptz AS expires_at
), ended AS (
    SELECT id, state, attempt, enqueued_at, started_at, worker_id, lane_id, seq, due_at, expires_at
      FROM ready
    UNION ALL
    SELECT id, state, attempt, enqueued_at, started_at, worker_id, lane_id, seq, due_at, expires_at
      FROM later
    UNION ALL
    SELECT id, state, attempt, enqueued_at, started_at, worker_id, lane_id, seq, due_at, expires_at
      FROM lease
), stored AS (
    UPDATE ojs_job AS j
       SET state = 7, attempt = e.attempt, finished_at = now(), ran = false,
           enqueued_at = coalesce(e.enqueued_at, j.enqueued_at),
           started_at = coalesce(e.started_at, j.started_at)
      FROM ended AS e WHERE j.id = e.id
    RETURNING j.id, j.queue, j.type, j.tenant, j.priority, j.attempt, e.state AS previous, e.worker_id,
              CASE WHEN e.state <> 4 THEN -j.bytes END AS bytes,
              -- it may have a checkpoint or a parent
              j.watched AND (j.attributes ? 'last_checkpoint' OR j.meta ? 'ojs.parent') AS marked
), listed AS (
    INSERT INTO ojs_finished (queue, kind, finished_at, id) SELECT queue, 7, now(), id FROM stored
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                           bytes, worker_id, data)
    SELECT now(), 9, id, queue, type, tenant, previous, 7, attempt, bytes, worker_id,
           jsonb_strip_nulls(jsonb_build_object('cancelled_by', %(actor)s::text,
                                                'reason', %(reason)s::text))
      FROM stored
/* kept */
)
SELECT s.id, s.previous, s.queue, s.type, s.tenant, s.attempt, s.marked,
       (SELECT ojs_release(array_agg(DISTINCT e.id), array_agg(DISTINCT m))
          FROM lease AS e CROSS JOIN LATERAL unnest(e.limits) AS m) AS freed
  FROM stored AS s
