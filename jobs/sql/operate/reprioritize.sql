-- reprioritize: move a waiting job to the lane of another priority; scheduled, pending or available.
-- It gets a new `seq` and goes to the end of its new lane: a lane hides positions before its `low`.
-- Locks: the narrow row, waited for: a claim that holds it wins. Then the locks of ojs_wake.
WITH ready AS (
    UPDATE ojs_ready AS r
       SET lane_id = %(lane_id)s::bigint, seq = nextval(pg_get_serial_sequence('ojs_ready', 'seq'))
      FROM (SELECT id, lane_id, seq FROM ojs_ready WHERE id = %(id)s::uuid FOR UPDATE) AS o
     WHERE r.id = o.id
    RETURNING r.id, 3 AS state, r.attempt, o.lane_id, o.seq, NULL::timestamptz AS due_at,
              r.enqueued_at, r.expires_at
), later AS (
    UPDATE ojs_later AS x SET lane_id = %(lane_id)s::bigint
      FROM (SELECT id, lane_id FROM ojs_later WHERE id = %(id)s::uuid AND kind IN (1, 2)
               FOR UPDATE) AS o
     WHERE x.id = o.id
    RETURNING x.id, x.kind::int AS state, x.attempt, o.lane_id, NULL::bigint AS seq, x.due_at,
              NULL::timestamptz AS enqueued_at, x.expires_at
), stored AS (
    UPDATE ojs_job AS j SET lane_id = %(lane_id)s::bigint, priority = %(priority)s::smallint
     WHERE j.id IN (SELECT id FROM ready UNION ALL SELECT id FROM later)
    RETURNING j.id, j.queue, j.type, j.tenant, j.attempt
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, attempt, data)
    SELECT now(), 81, id, queue, type, tenant, attempt,
           jsonb_build_object('priority', %(priority)s::smallint, 'changed_by', %(actor)s::text)
      FROM stored
/* kept */
)
SELECT s.id, CASE WHEN EXISTS (SELECT 1 FROM ready) THEN ojs_wake(ARRAY[%(lane_id)s::bigint]) END
  FROM stored AS s
