-- count_ended: count ended steps for their workflows, emit events of completed steps, and return the
-- workflows whose own row changed. `ended` is one JSON array, with the steps cancelled behind.
-- Members of a wide workflow count down its slots; its row changes with the last member of a slot.
-- Locks: the slots, then the workflows, each in order.
WITH over AS MATERIALIZED (
    SELECT g.*, w.slots, w.tenant, w.name AS workflow_name, w.members, w.state AS flow_state
      FROM json_to_recordset(%(ended)s::json)
               AS g (workflow_id uuid, index int, state smallint, callback smallint)
      JOIN ojs_workflow AS w ON w.id = g.workflow_id
), hit AS MATERIALIZED (
    SELECT workflow_id, index %% slots AS slot, count(*)::int AS n,
           count(*) FILTER (WHERE state = 3)::int AS good,
           count(*) FILTER (WHERE state IN (4, 5))::int AS bad
      FROM over WHERE slots > 0 AND callback = 0 GROUP BY 1, 2
), held_slot AS MATERIALIZED (
    SELECT h.* FROM ojs_workflow_slot AS c
      JOIN hit AS h ON h.workflow_id = c.workflow_id AND h.slot = c.slot
     WHERE c.target = -1 ORDER BY c.workflow_id, c.slot FOR UPDATE OF c
), slot AS (
    UPDATE ojs_workflow_slot AS c
       SET open = c.open - h.n, completed = c.completed + h.good, failed = c.failed + h.bad
      FROM held_slot AS h
     WHERE c.workflow_id = h.workflow_id AND c.target = -1 AND c.slot = h.slot
    RETURNING c.workflow_id, c.open, c.completed, c.failed
), share AS MATERIALIZED (
    SELECT workflow_id, sum(n)::int AS n, sum(good)::int AS good, sum(bad)::int AS bad,
           sum(calls)::int AS calls, sum(calls_bad)::int AS calls_bad
      FROM (SELECT workflow_id, count(*) FILTER (WHERE callback = 0) AS n,
                   count(*) FILTER (WHERE callback = 0 AND state = 3) AS good,
                   count(*) FILTER (WHERE callback = 0 AND state IN (4, 5)) AS bad,
                   count(*) FILTER (WHERE callback > 0) AS calls,
                   count(*) FILTER (WHERE callback > 0 AND state IN (4, 5)) AS calls_bad
              FROM over WHERE slots = 0 OR callback > 0 GROUP BY workflow_id
            UNION ALL
            SELECT workflow_id, 1, completed, failed, 0, 0 FROM slot WHERE open = 0) AS x
     GROUP BY workflow_id
), held AS MATERIALIZED (
    SELECT h.* FROM ojs_workflow AS w JOIN share AS h ON h.workflow_id = w.id
     ORDER BY w.id FOR UPDATE OF w
), flow AS (
    UPDATE ojs_workflow AS w
       SET open = w.open - h.n, completed = w.completed + h.good, failed = w.failed + h.bad,
           calls = w.calls - h.calls, calls_failed = w.calls_failed + h.calls_bad
      FROM held AS h WHERE w.id = h.workflow_id
    RETURNING w.id, w.depth, w.kind, w.state, w.slots, w.open, w.failed, w.callbacks, w.calls,
              w.calls_failed
), rest AS MATERIALIZED (
    SELECT id AS workflow_id, open + coalesce(calls, 0) AS n FROM flow WHERE slots = 0
     UNION ALL  -- as this statement found it: simultaneous ends may report the same number
    SELECT h.workflow_id, sum(c.open) - (SELECT sum(i.n) FROM hit AS i
                                          WHERE i.workflow_id = h.workflow_id)
      FROM (SELECT DISTINCT workflow_id FROM hit) AS h
      JOIN ojs_workflow_slot AS c ON c.workflow_id = h.workflow_id AND c.target = -1
     GROUP BY h.workflow_id
), emitted AS (
    INSERT INTO ojs_event (at, kind, tenant, data)
    SELECT now(), 51, o.tenant,
           jsonb_strip_nulls(jsonb_build_object('workflow_id', o.workflow_id,
               'workflow_name', o.workflow_name, 'total_steps', o.members, 'step_id', s.name,
               'step_type', s.type, 'job_id', s.job_id, 'steps_remaining', coalesce(r.n, 0),
               'duration_ms',
               (extract(epoch FROM s.finished_at - s.started_at) * 1000)::bigint))
      FROM over AS o
      JOIN ojs_workflow_step AS s ON s.workflow_id = o.workflow_id AND s.index = o.index
      LEFT JOIN rest AS r ON r.workflow_id = o.workflow_id
     WHERE o.state = 3 AND o.flow_state = 1
     ORDER BY o.workflow_id, o.index
)
SELECT f.id, f.depth, f.kind, f.state, f.open, f.failed, f.callbacks, f.calls, f.calls_failed
  FROM flow AS f ORDER BY f.id
