-- reroute: move waiting jobs to other lanes of their queues: `jobs` is one JSON array of id, present
-- lane and target lane, in the order that they get in the target. A job that has left its lane, or that
-- a claim is just handing out, is not moved. No other reader sees a change of the job.
-- It gets a new `seq` and goes to the end of its new lane: a lane hides positions before its `low`.
-- Locks: the narrow rows, SKIP LOCKED. Then the locks of ojs_wake.
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(jobs)s::json) AS g (n int, id uuid, lane bigint, target bigint)
), ready AS (
    DELETE FROM ojs_ready AS r
     USING (SELECT x.id FROM ojs_ready AS x WHERE x.id = ANY (ARRAY(SELECT id FROM given))
             ORDER BY x.id FOR UPDATE SKIP LOCKED) AS s, given AS g
     WHERE r.id = s.id AND g.id = s.id AND r.lane_id = g.lane
    RETURNING r.id, g.target, g.n, r.attempt, r.enqueued_at, r.expires_at
), again AS (
    INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at, expires_at)
    SELECT id, target, attempt, enqueued_at, expires_at FROM ready ORDER BY n
), later AS (
    UPDATE ojs_later AS r SET lane_id = g.target
      FROM (SELECT x.id FROM ojs_later AS x WHERE x.id = ANY (ARRAY(SELECT id FROM given))
             ORDER BY x.id FOR UPDATE SKIP LOCKED) AS s, given AS g
     WHERE r.id = s.id AND g.id = s.id AND r.lane_id = g.lane
    RETURNING r.id, g.target
), moved AS (
    SELECT id, target FROM ready UNION ALL SELECT id, target FROM later
), stored AS (
    UPDATE ojs_job AS j SET lane_id = m.target FROM moved AS m WHERE j.id = m.id
    RETURNING j.id
)
SELECT s.id, (SELECT ojs_wake(array_agg(DISTINCT r.target)) FROM ready AS r) AS woken,
       (SELECT ojs_known(array_agg(DISTINCT l.target)) FROM later AS l) AS known
  FROM stored AS s
