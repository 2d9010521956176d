-- backlog: waiting jobs of several queues and tenants, counted as the aggregation would; no events.
-- `parts`: a JSON array of {queue, tenant, jobs}.
CREATE TEMPORARY TABLE part AS
SELECT * FROM json_to_recordset('{parts}') AS p (queue text, tenant text, jobs int);
INSERT INTO ojs_queue (name) SELECT DISTINCT queue FROM part ON CONFLICT DO NOTHING;
WITH key AS (
    INSERT INTO ojs_lane_key (queue, priority, tenant)
    SELECT queue, 0, tenant FROM part
    ON CONFLICT DO NOTHING RETURNING id, queue, priority, tenant
)
INSERT INTO ojs_lane (id, queue, priority, tenant) SELECT id, queue, priority, tenant FROM key;
WITH job AS (
    SELECT uuidv7() AS id, l.id AS lane_id, l.queue, l.tenant
      FROM part AS p
      JOIN ojs_lane AS l ON l.queue = p.queue AND l.tenant = p.tenant
     CROSS JOIN LATERAL generate_series(1, p.jobs) AS n
     ORDER BY n, l.id
), stored AS (
    INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, watched, args, meta,
                         attributes, max_attempts, timeout_ms, created_at, attempt, enqueued_at)
    SELECT id, '{type}', queue, tenant, lane_id, 0, false, '{args}', '{meta}', '{attributes}',
           3, 1800000, now(), 0, now()
      FROM job
)
INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at) SELECT id, lane_id, 0, now() FROM job;
SELECT ojs_wake(array_agg(l.id))
  FROM ojs_lane AS l JOIN part AS p ON p.queue = l.queue AND p.tenant = l.tenant;
INSERT INTO ojs_depth AS d (queue, state, jobs)
SELECT queue, 3, sum(jobs) FROM part GROUP BY queue
ON CONFLICT (queue, state) DO UPDATE SET jobs = d.jobs + excluded.jobs;
INSERT INTO ojs_total AS t (queue, type, enqueued, started, completed, failed, retried, discarded,
                            cancelled, expired, wait_ms, run_ms)
SELECT queue, '{type}', sum(jobs), 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM part GROUP BY queue
ON CONFLICT (queue, type, tenant) DO UPDATE SET enqueued = t.enqueued + excluded.enqueued;
DROP TABLE part;
