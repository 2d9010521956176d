-- activate: pending -> available, or -> scheduled when its scheduled_at is still ahead.
-- Locks: the waiting row; then the locks of ojs_wake.
WITH ended AS (
    DELETE FROM ojs_later AS x WHERE x.id = %(id)s::uuid AND x.kind = 2 RETURNING x.*
), stored AS (
    UPDATE ojs_job AS j
       SET activated_at = now(),
           enqueued_at = CASE WHEN j.scheduled_at > now() THEN NULL ELSE now() END
      FROM ended AS e WHERE j.id = e.id
    RETURNING j.id, j.queue, j.type, j.tenant, j.priority, j.lane_id, j.scheduled_at, j.expires_at,
              CASE WHEN j.scheduled_at > now() THEN 1 ELSE 3 END AS state
), available AS (
    INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at, expires_at)
    SELECT id, lane_id, 0, now(), expires_at FROM stored WHERE state = 3
), waiting AS (
    INSERT INTO ojs_later (id, kind, due_at, lane_id, attempt, expires_at)
    SELECT id, 1, scheduled_at, lane_id, 0, expires_at FROM stored WHERE state = 1
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                           data)
    SELECT now(), CASE state WHEN 3 THEN 1 ELSE 2 END, id, queue, type, tenant, 2, state, 0,
           CASE WHEN state = 1 THEN jsonb_build_object('scheduled_at', ojs_time(scheduled_at))
                WHEN priority <> 0 THEN jsonb_build_object('priority', priority) END
      FROM stored
)
SELECT s.id, s.state,
       (SELECT ojs_wake(array_agg(DISTINCT w.lane_id)) FROM stored AS w WHERE w.state = 3) AS woken
  FROM stored AS s
