-- undo_place: waiting jobs go back to the queue, lane and position that they left by move.sql or
-- reprioritize.sql. `jobs` is one JSON array of id and lane. A job that has left its later lane is not
-- returned.
-- Locks: the narrow rows, in id order per table; then the locks of ojs_give_back.
WITH given AS MATERIALIZED (
    SELECT g.*, u.queue, u.priority, u.seq, u.left_lane
      FROM json_to_recordset(%(jobs)s::json) AS g (id uuid, lane bigint)
      JOIN ojs_undo_job AS u ON u.undo_id = %(undo)s::bigint AND u.job_id = g.id
     WHERE u.left_state = u.was AND u.left_lane IS NOT NULL
), ready AS (
    DELETE FROM ojs_ready AS r
     USING (SELECT x.id FROM ojs_ready AS x WHERE x.id = ANY (ARRAY(SELECT id FROM given))
             ORDER BY x.id FOR UPDATE) AS s, given AS g
     WHERE r.id = s.id AND g.id = s.id AND r.lane_id = g.left_lane
    RETURNING r.id, g.lane, g.seq, r.attempt, r.enqueued_at, r.expires_at
), again AS (
    INSERT INTO ojs_ready (id, lane_id, seq, attempt, enqueued_at, expires_at)
    SELECT id, lane, coalesce(seq, nextval(pg_get_serial_sequence('ojs_ready', 'seq'))), attempt,
           enqueued_at, expires_at
      FROM ready ORDER BY seq
    RETURNING lane_id, seq
), later AS (
    UPDATE ojs_later AS r SET lane_id = g.lane
      FROM (SELECT x.id FROM ojs_later AS x WHERE x.id = ANY (ARRAY(SELECT id FROM given))
             ORDER BY x.id FOR UPDATE) AS s, given AS g
     WHERE r.id = s.id AND g.id = s.id AND r.lane_id = g.left_lane
    RETURNING r.id, r.kind::int AS state, r.attempt
), moved AS (
    SELECT id, 3 AS state, attempt FROM ready
    UNION ALL SELECT id, state, attempt FROM later
), stored AS (
    UPDATE ojs_job AS j SET queue = g.queue, lane_id = g.lane, priority = g.priority
      FROM moved AS m JOIN given AS g ON g.id = m.id
      JOIN ojs_job AS b ON b.id = m.id
     WHERE j.id = m.id
    RETURNING j.id, j.queue, j.type, j.tenant, j.bytes, j.priority, m.state, m.attempt,
              b.queue AS left_queue, b.priority AS left_priority
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                           bytes, data)
    SELECT now(), k.kind, s.id, k.queue, s.type, s.tenant, k.from_state, k.to_state, s.attempt,
           k.bytes, k.data
      FROM stored AS s
     CROSS JOIN LATERAL (VALUES
           (102, s.left_queue, s.state, NULL::int, -s.bytes, NULL::jsonb),
           (103, s.queue, NULL, s.state, s.bytes, NULL),
           (81, s.queue, NULL, NULL, NULL,
            jsonb_build_object('priority', s.priority, 'changed_by', %(actor)s::text))
           ) AS k (kind, queue, from_state, to_state, bytes, data)
     WHERE CASE WHEN k.kind = 81 THEN s.left_priority <> s.priority
                ELSE s.left_queue <> s.queue END
     ORDER BY s.id, k.kind
)
SELECT s.id, (SELECT ojs_give_back('{}', '{}', array_agg(r.lane_id), array_agg(r.seq))
                FROM again AS r) AS woken
  FROM stored AS s
