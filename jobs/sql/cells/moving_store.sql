-- moving_store: store jobs that moving_pack.sql took out of another cell, in these lanes; `lanes` and
-- `images` have an entry for each job. Ids, times, attempts and states stay. A job whose id is in use
-- fails on the primary key. Returns how many jobs it stored by state.
-- Locks: none on shared rows except the locks of ojs_wake.
-- Raises OJS01 if a lane does not exist, as ojs_wake does.
WITH given AS MATERIALIZED (
    SELECT g.n, g.lane, g.image, g.image -> 'wait' AS wait
      FROM unnest(%(lanes)s::bigint[], %(images)s::jsonb[]) WITH ORDINALITY AS g (lane, image, n)
), stored AS (
    INSERT INTO ojs_job AS j
    SELECT p.*
      FROM given AS g
     CROSS JOIN LATERAL jsonb_populate_record(
           NULL::ojs_job, g.image -> 'job' || jsonb_build_object('lane_id', g.lane)) AS p
     ORDER BY g.n
    RETURNING j.id, j.queue, j.type, j.tenant, j.state, j.dead_letter, j.finished_at, j.attempt, j.bytes
), waiting AS MATERIALIZED (
    SELECT g.n, g.lane, w.* FROM given AS g
     CROSS JOIN LATERAL jsonb_to_record(g.wait) AS w (
           id uuid, state int, attempt int, enqueued_at timestamptz, due_at timestamptz,
           expires_at timestamptz)
     WHERE jsonb_typeof(g.wait) = 'object'
), ready AS (
    INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at, expires_at)
    SELECT id, lane, attempt, enqueued_at, expires_at FROM waiting WHERE state = 3 ORDER BY n
), later AS (
    INSERT INTO ojs_later (id, kind, due_at, lane_id, attempt, expires_at)
    SELECT id, state, due_at, lane, attempt, expires_at FROM waiting WHERE state <> 3 ORDER BY n
), listed AS (
    INSERT INTO ojs_finished (queue, kind, finished_at, id)
    SELECT queue, CASE WHEN dead_letter THEN 9 ELSE state END, finished_at, id
      FROM stored WHERE state IS NOT NULL
), marked AS (
    INSERT INTO ojs_unique
    SELECT (jsonb_populate_record(NULL::ojs_unique, g.image -> 'unique')).*
      FROM given AS g WHERE jsonb_typeof(g.image -> 'unique') = 'object'
), progress AS (
    INSERT INTO ojs_progress
    SELECT (jsonb_populate_record(NULL::ojs_progress, g.image -> 'progress')).*
      FROM given AS g WHERE jsonb_typeof(g.image -> 'progress') = 'object'
), replay AS (
    INSERT INTO ojs_replay
    SELECT (jsonb_populate_record(NULL::ojs_replay, g.image -> 'replay')).*
      FROM given AS g WHERE jsonb_typeof(g.image -> 'replay') = 'object'
), expiry AS (
    INSERT INTO ojs_result_expiry
    SELECT (jsonb_populate_record(NULL::ojs_result_expiry, g.image -> 'expiry')).*
      FROM given AS g WHERE jsonb_typeof(g.image -> 'expiry') = 'object'
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, to_state, attempt, bytes)
    SELECT now(), CASE WHEN w.id IS NULL THEN 104 ELSE 103 END, s.id, s.queue, s.type, s.tenant,
           coalesce(w.state, s.state), coalesce(w.attempt, s.attempt),
           CASE WHEN w.id IS NOT NULL THEN s.bytes END
      FROM stored AS s LEFT JOIN waiting AS w ON w.id = s.id
     ORDER BY s.id
)
SELECT coalesce(w.state, s.state)::int AS state, count(*)::int AS jobs,
       (SELECT ojs_wake(array_agg(DISTINCT a.lane)) FROM waiting AS a WHERE a.state = 3) AS woken,
       (SELECT ojs_known(array_agg(DISTINCT a.lane)) FROM given AS a) AS known
  FROM stored AS s LEFT JOIN waiting AS w ON w.id = s.id
 GROUP BY 1
