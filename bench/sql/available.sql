-- available: add waiting jobs number `first` to `last` to the lanes in rotation, and count them as the aggregation would.
WITH job AS (
    SELECT uuidv7() AS id, l.id AS lane_id, l.tenant
      FROM generate_series({first}, {last}) AS g (n)
      JOIN (SELECT id, tenant, row_number() OVER (ORDER BY id) AS k FROM ojs_lane
             WHERE queue = 'bench') AS l
        ON l.k = 1 + g.n % {lanes}
), stored AS (
    INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, watched, args, meta,
                         attributes, max_attempts, timeout_ms, created_at, attempt, enqueued_at)
    SELECT id, '{type}', 'bench', tenant, lane_id, 0, false, '{args}', '{meta}', '{attributes}',
           3, 1800000, now(), 0, now()
      FROM job
)
INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at) SELECT id, lane_id, 0, now() FROM job;
SELECT ojs_wake(array_agg(l.id)) FROM ojs_lane AS l
 WHERE l.queue = 'bench' AND EXISTS (SELECT 1 FROM ojs_ready AS r WHERE r.lane_id = l.id);
INSERT INTO ojs_depth AS d (queue, state, jobs) VALUES ('bench', 3, 1 + {last} - {first})
ON CONFLICT (queue, state) DO UPDATE SET jobs = d.jobs + excluded.jobs;
INSERT INTO ojs_total AS t (queue, type, enqueued, started, completed, failed, retried, discarded,
                            cancelled, expired, wait_ms, run_ms)
VALUES ('bench', '{type}', 1 + {last} - {first}, 0, 0, 0, 0, 0, 0, 0, 0, 0)
ON CONFLICT (queue, type, tenant) DO UPDATE SET enqueued = t.enqueued + excluded.enqueued;
