-- enqueue: store drafts, all or none, in the order of `n`.
-- `drafts` is one JSON array; `wake` is false inside a caller's transaction, which wakes the lanes
-- after its commit instead (services/enqueue.py). `checking` says whether drafts have fingerprints:
-- 0 none has, 1 some have and are checked here, 2 they were checked. A draft that hits a stored job
-- is not stored: state 0, `hit` and `hit_state` tell what it hit.
-- Stores nothing when the caller does not know the latest `terms`: see Terms in models.py.
-- Locks: those of ojs_unique_pass; none on shared rows but those of ojs_wake. A used id fails on the
-- primary key.
WITH placed AS MATERIALIZED (
    SELECT d.*, t.run_at, t.dies_at,
           CASE WHEN d.hit IS NOT NULL THEN 0
                WHEN d.pending THEN 2 WHEN t.run_at > now() THEN 1 ELSE 3 END AS state
      FROM json_to_recordset(CASE WHEN %(checking)s::int = 0 THEN %(drafts)s::json
                                  WHEN (SELECT v.version FROM ojs_terms AS v WHERE v.id = 1)
                                       = %(terms)s::bigint
                                  THEN ojs_unique_pass(%(drafts)s::json, %(checking)s::int = 2)
                             END) AS d (
               n int, id uuid, type text, queue text, tenant text, lane_id bigint, priority smallint,
               version text, watched boolean, args jsonb, meta jsonb, attributes jsonb,
               bytes int, max_attempts int, timeout_ms bigint, visibility_ms bigint, pending boolean,
               scheduled_at timestamptz, scheduled_in_ms bigint,
               expires_at timestamptz, expires_in_ms bigint, hit uuid, hit_state int)
     CROSS JOIN LATERAL (
           SELECT coalesce(d.scheduled_at, now() + d.scheduled_in_ms * interval '1 millisecond')
                      AS run_at,
                  coalesce(d.expires_at, now() + d.expires_in_ms * interval '1 millisecond')
                      AS dies_at
           ) AS t
     WHERE (SELECT v.version FROM ojs_terms AS v WHERE v.id = 1) = %(terms)s::bigint
), stored AS (
    INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, version, watched, args, meta,
                         attributes, bytes, max_attempts, timeout_ms, visibility_ms, created_at,
                         scheduled_at, expires_at, attempt, enqueued_at, request_id)
    SELECT id, type, queue, tenant, lane_id, priority, version, watched, args, meta, attributes,
           bytes, max_attempts, timeout_ms, visibility_ms, now(), run_at, dies_at, 0,
           CASE WHEN state = 3 THEN now() END, %(request)s::text
      FROM placed WHERE state <> 0 ORDER BY n
), available AS (
    INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at, expires_at)
    SELECT id, lane_id, 0, now(), dies_at FROM placed WHERE state = 3 ORDER BY n
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
      FROM placed WHERE state <> 0 ORDER BY n
)
SELECT n, state, now() AS created_at, run_at, dies_at, hit, hit_state,
       CASE WHEN %(wake)s::boolean THEN
            (SELECT ojs_wake(array_agg(DISTINCT lane_id)) FROM placed WHERE state = 3) END AS woken,
       (SELECT ojs_known(array_agg(DISTINCT lane_id)) FROM placed
         WHERE state IN (1, 2) OR state = 3 AND NOT %(wake)s::boolean) AS known
  FROM placed ORDER BY n
