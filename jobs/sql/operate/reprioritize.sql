-- reprioritize: move a waiting job to the lane of another priority; scheduled, pending or available.
-- It gets a new `seq` and goes to the end of its new lane: a lane hides positions before its `low`.
-- Locks: the narrow row, waited for: a claim that holds it wins. Then the locks of ojs_wake.
WITH ready AS (
    UPDATE ojs_ready AS r
       SET lane_id = %(lane_id)s::bigint, seq = nextval(pg_get_serial_sequence('ojs_ready', 'seq'))
     WHERE r.id = %(id)s::uuid
    RETURNING r.id, r.attempt
), later AS (
    UPDATE ojs_later AS x SET lane_id = %(lane_id)s::bigint
     WHERE x.id = %(id)s::uuid AND x.kind IN (1, 2)
    RETURNING x.id, x.attempt
), stored AS (
    UPDATE ojs_job AS j SET lane_id = %(lane_id)s::bigint, priority = %(priority)s::smallint
     WHERE j.id IN (SELECT id FROM ready UNION ALL SELECT id FROM later)
    RETURNING j.id, j.queue, j.type, j.tenant, j.attempt
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, attempt, data)
    SELECT now(), 81, id, queue, type, tenant, attempt,
           jsonb_build_object('priority', %(priority)s::smallint, 'changed_by', %(actor)s::text)
      FROM stored
)
SELECT s.id, CASE WHEN EXISTS (SELECT 1 FROM ready) THEN ojs_wake(ARRAY[%(lane_id)s::bigint]) END
  FROM stored AS s
