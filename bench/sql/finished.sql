-- finished: ended jobs, as if they had run over the last day, with their events.
WITH job AS (
    SELECT uuidv7(-(m.n * interval '86 milliseconds')) AS id, m.lane_id, m.tenant,
           now() - m.n * interval '86 milliseconds' AS at
      FROM (SELECT g.n, l.id AS lane_id, l.tenant
              FROM generate_series({finished}, 1, -1) AS g (n)
              JOIN (SELECT id, tenant, row_number() OVER (ORDER BY id) AS k FROM ojs_lane
                     WHERE queue = 'bench') AS l
                ON l.k = 1 + g.n % {lanes}) AS m
), stored AS (
    INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, watched, args, meta,
                         attributes, max_attempts, timeout_ms, created_at, state, attempt,
                         enqueued_at, started_at, finished_at, ran)
    SELECT id, '{type}', 'bench', tenant, lane_id, 0, false, '{args}', '{meta}', '{attributes}',
           3, 1800000, at, 6, 1, at, at + interval '10 milliseconds',
           at + interval '20 milliseconds', true
      FROM job
), listed AS (
    INSERT INTO ojs_finished (queue, kind, finished_at, id)
    SELECT 'bench', 6, at + interval '20 milliseconds', id FROM job
)
INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                       took_ms)
SELECT at + k.late, k.kind, id, 'bench', '{type}', tenant, k.before, k.after, k.attempt, k.took
  FROM job CROSS JOIN (VALUES
       (interval '0', 1, NULL, 3, 0, NULL), (interval '10 milliseconds', 3, 3, 4, 1, 10),
       (interval '20 milliseconds', 4, 4, 6, 1, 10)) AS k (late, kind, before, after, attempt, took)
 ORDER BY id, k.kind;
-- the counts that the aggregation of these events would give; they are marked as aggregated below
INSERT INTO ojs_depth AS d (queue, state, jobs) VALUES ('bench', 6, {finished})
ON CONFLICT (queue, state) DO UPDATE SET jobs = d.jobs + excluded.jobs;
INSERT INTO ojs_total AS t (queue, type, enqueued, started, completed, failed, retried, discarded,
                            cancelled, expired, wait_ms, run_ms)
VALUES ('bench', '{type}', {finished}, {finished}, {finished}, 0, 0, 0, 0, 0, {finished} * 10::bigint,
        {finished} * 10::bigint)
ON CONFLICT (queue, type, tenant) DO UPDATE
   SET enqueued = t.enqueued + excluded.enqueued, started = t.started + excluded.started,
       completed = t.completed + excluded.completed;
DELETE FROM ojs_fold_position;
INSERT INTO ojs_fold_position (id, stamp) VALUES (1, pg_snapshot_xmax(pg_current_snapshot()));
