-- enqueue: store drafts, all or none, in the order of `n`. The source of the drafts is one of parts/: a
-- request with one draft has it as parameters, as reading JSON costs a fifth of the statement. `wake` is
-- false inside a caller's transaction, which wakes the lanes after its commit instead
-- (services/enqueue/insert.py). A draft that matches a stored job is not stored: state 0, and `hit` and
-- `hit_state` are the stored job. `created_at` is the same for all jobs, and only the first row has it.
-- Stores nothing when `config_version` is not the latest: see Terms in models/queues.py. A used id fails
-- on the primary key.
-- Locks: the locks of ojs_unique_pass; none on shared rows except the locks of ojs_wake.
WITH placed AS MATERIALIZED (
    SELECT d.*, t.run_at, t.dies_at,
           CASE WHEN d.hit IS NOT NULL THEN 0
                WHEN d.pending THEN 2 WHEN t.run_at > now() THEN 1 ELSE 3 END AS state
      FROM /* drafts */
     CROSS JOIN LATERAL (
           SELECT coalesce(d.scheduled_at, now() + d.scheduled_in_ms * interval '1 millisecond')
                      AS run_at,
                  coalesce(d.expires_at, now() + d.expires_in_ms * interval '1 millisecond')
                      AS dies_at
           ) AS t
     WHERE (SELECT v.version FROM ojs_terms AS v WHERE v.id = 1) = %(config_version)s::bigint
), stored AS (
    INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, version, watched, args, meta,
                         attributes, bytes, max_attempts, timeout_ms, visibility_ms, created_at,
                         scheduled_at, expires_at, attempt, enqueued_at, request_id)
    SELECT id, type, queue, tenant, lane_id, priority, version, watched, args, meta, attributes,
           bytes, max_attempts, timeout_ms, visibility_ms, now(), run_at, dies_at, 0,
           CASE WHEN state = 3 THEN now() END, request_id
      FROM placed WHERE state <> 0
), available AS (
    INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at, expires_at)
    SELECT id, lane_id, 0, now(), dies_at FROM placed WHERE state = 3
), waiting AS (
    INSERT INTO ojs_later (id, kind, due_at, lane_id, attempt, expires_at)
    SELECT id, state, CASE WHEN state = 1 THEN run_at END, lane_id, 0, dies_at
      FROM placed WHERE state IN (1, 2)
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, to_state, attempt, bytes,
                           data)
    SELECT now(), CASE state WHEN 3 THEN 1 WHEN 1 THEN 2 ELSE 100 END, id, queue, type, tenant,
           state, 0, bytes,
           CASE WHEN state = 1 THEN jsonb_build_object('scheduled_at', ojs_time(run_at))
                WHEN priority <> 0 THEN jsonb_build_object('priority', priority) END
      FROM placed WHERE state <> 0
)
SELECT n, state, CASE WHEN n = 0 THEN now() END AS created_at, run_at, dies_at, hit, hit_state,
       /* woken */
  FROM placed
