-- finished: ended jobs number `first` to `last`, backwards from now; the newest have events.
WITH job AS (
    SELECT uuidv7(-(m.n * interval '{step_ms} milliseconds')) AS id, m.lane_id, m.tenant,
           now() - m.n * interval '{step_ms} milliseconds' AS at, m.n
      FROM (SELECT g.n, l.id AS lane_id, l.tenant
              FROM generate_series({last}, {first}, -1) AS g (n)
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
 WHERE n <= {evented}
 ORDER BY id, k.kind;
-- the counts that the aggregation of these events would give; they are marked as aggregated below
INSERT INTO ojs_depth AS d (queue, state, jobs) VALUES ('bench', 6, 1 + {last} - {first})
ON CONFLICT (queue, state) DO UPDATE SET jobs = d.jobs + excluded.jobs;
INSERT INTO ojs_total AS t (queue, type, enqueued, started, completed, failed, retried, discarded,
                            cancelled, expired, wait_ms, run_ms)
SELECT 'bench', '{type}', n, n, n, 0, 0, 0, 0, 0, n * 10, n * 10
  FROM (SELECT 1 + {last} - {first}::bigint AS n) AS ended
ON CONFLICT (queue, type, tenant) DO UPDATE
   SET enqueued = t.enqueued + excluded.enqueued, started = t.started + excluded.started,
       completed = t.completed + excluded.completed
