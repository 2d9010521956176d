-- move: move waiting jobs to another queue: `jobs` is one JSON array of id, present lane and target
-- lane, in the order that they get in the target. A job that has left its lane, or that a claim is just
-- handing out, is not moved. Their states, times and attempts stay.
-- Locks: the narrow rows, SKIP LOCKED. Then the locks of ojs_wake.
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(jobs)s::json) AS g (n int, id uuid, lane bigint, target bigint)
), ready AS (
    DELETE FROM ojs_ready AS r
     USING (SELECT x.id FROM ojs_ready AS x WHERE x.id = ANY (ARRAY(SELECT id FROM given))
             ORDER BY x.id FOR UPDATE SKIP LOCKED) AS s, given AS g
     WHERE r.id = s.id AND g.id = s.id AND r.lane_id = g.lane
    RETURNING r.id, g.target, g.n, r.attempt, r.enqueued_at, r.expires_at, r.seq
), again AS (
    INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at, expires_at)
    SELECT id, target, attempt, enqueued_at, expires_at FROM ready ORDER BY n
), later AS (
    UPDATE ojs_later AS r SET lane_id = g.target
      FROM (SELECT x.id FROM ojs_later AS x WHERE x.id = ANY (ARRAY(SELECT id FROM given))
             ORDER BY x.id FOR UPDATE SKIP LOCKED) AS s, given AS g
     WHERE r.id = s.id AND g.id = s.id AND r.lane_id = g.lane
    RETURNING r.id, g.target, r.kind::int AS state, r.attempt, r.due_at, r.expires_at
), moved AS (
    SELECT id, target, 3 AS state, attempt, seq, NULL::timestamptz AS due_at, expires_at FROM ready
    UNION ALL SELECT id, target, state, attempt, NULL::bigint, due_at, expires_at FROM later
), stored AS (
    UPDATE ojs_job AS j SET queue = %(queue)s::text, lane_id = m.target
      FROM moved AS m WHERE j.id = m.id
    RETURNING j.id, j.type, j.tenant, j.priority, j.bytes, m.state, m.attempt
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                           bytes)
    SELECT now(), k.kind, s.id, k.queue, s.type, s.tenant, k.from_state, k.to_state, s.attempt,
           k.bytes
      FROM stored AS s
     CROSS JOIN LATERAL (VALUES (102, %(left)s::text, s.state, NULL, -s.bytes),
                                (103, %(queue)s::text, NULL, s.state, s.bytes)
                        ) AS k (kind, queue, from_state, to_state, bytes)
     ORDER BY s.id, k.kind
/* kept */
)
SELECT s.id, (SELECT ojs_wake(array_agg(DISTINCT r.target)) FROM ready AS r) AS woken
  FROM stored AS s
