-- console_counts: the counts that the aggregation of all jobs' events would give, and past periods.
CREATE TEMP TABLE live ON COMMIT PRESERVE ROWS AS
SELECT lane_id, 3 AS state, count(*) AS jobs FROM ojs_ready GROUP BY 1
UNION ALL SELECT lane_id, kind, count(*) FROM ojs_later GROUP BY 1, 2
UNION ALL SELECT lane_id, 4, count(*) FROM ojs_lease GROUP BY 1;
CREATE TEMP TABLE counted ON COMMIT PRESERVE ROWS AS
SELECT tenant, queue, type, state, count(*) AS jobs FROM ojs_job GROUP BY 1, 2, 3, 4;
INSERT INTO ojs_tenant_depth (tenant, queue, state, jobs)
SELECT tenant, queue, state, sum(jobs) FROM counted WHERE state IS NOT NULL GROUP BY 1, 2, 3
UNION ALL
SELECT k.tenant, k.queue, l.state, sum(l.jobs)
  FROM live AS l JOIN ojs_lane_key AS k ON k.id = l.lane_id GROUP BY 1, 2, 3;
INSERT INTO ojs_depth (queue, state, jobs)
SELECT queue, state, sum(jobs) FROM ojs_tenant_depth GROUP BY 1, 2;
INSERT INTO ojs_queue_size (queue, bytes)
SELECT queue, 200 * sum(jobs) FROM ojs_depth WHERE state = 3 GROUP BY 1;
INSERT INTO ojs_total (queue, type, enqueued, started, completed, discarded, cancelled)
SELECT queue, type, sum(jobs), sum(jobs) FILTER (WHERE state IS NOT NULL),
       coalesce(sum(jobs) FILTER (WHERE state = 6), 0),
       coalesce(sum(jobs) FILTER (WHERE state = 8), 0),
       coalesce(sum(jobs) FILTER (WHERE state = 7), 0)
  FROM counted GROUP BY 1, 2 HAVING count(state) > 0;
INSERT INTO ojs_duration (queue, type, measure, bucket, jobs, took_ms)
SELECT queue, type, m, b, enqueued / 20, enqueued
  FROM ojs_total, generate_series(0, 1) AS m, generate_series(0, 9) AS b;
CREATE TEMP TABLE span ON COMMIT PRESERVE ROWS AS
SELECT s, date_bin(s * interval '1 second', now(), 'epoch') - n * s * interval '1 second' AS at
  FROM (VALUES (60, {minutes}), (3600, {hours}), (86400, 30)) AS x (s, number),
       generate_series(0, x.number) AS n;
INSERT INTO ojs_period (span_s, at, queue, type, enqueued, started, completed, failed, wait_ms, run_ms)
SELECT s, at, queue, type, s, s, s - s / 10, s / 10, 1000 * s, 2000 * s FROM span, ojs_total;
INSERT INTO ojs_latency (span_s, at, queue, bucket, jobs)
SELECT s, at, name, b, s / 5 FROM span, ojs_queue, generate_series(30, 44, 2) AS b;
INSERT INTO ojs_tenant_period (tenant, span_s, at, queue, enqueued, started, completed, failed,
                               wait_ms, run_ms)
SELECT 'tenant-' || t, s, at, 'queue-' || (t + q) % {queues}, 9, 9, 8, 1, 900, 900
  FROM span, generate_series(0, {tenants} - 1) AS t, generate_series(0, 2) AS q
 WHERE s > 60 OR at > now() - interval '90 minutes';
INSERT INTO ojs_tenant_survey (id, at, tenants, enqueued, started, weights, busiest, activity, loud)
SELECT 1, now(), {tenants}, 100000, 100000, {tenants}, array_agg('tenant-' || n ORDER BY n),
       array_agg(1000 - n ORDER BY n), ARRAY['tenant-0']
  FROM generate_series(0, least(100, {tenants}) - 1) AS n;
INSERT INTO ojs_tenant_noise (tenant, signals, seen_at) VALUES ('tenant-0', '[]', now());
INSERT INTO ojs_dispatch (queue, pool, jobs, last_at)
SELECT 'queue-' || q, 'pool-' || p, 1000, now()
  FROM generate_series(0, least(10, {queues}) - 1) AS q, generate_series(0, 4) AS p;
INSERT INTO ojs_dispatch_period (span_s, at, queue, pool, jobs, wait_ms)
SELECT x.s, date_bin(x.s * interval '1 second', now(), 'epoch') - n * x.s * interval '1 second',
       d.queue, d.pool, 5, 500
  FROM (VALUES (1, {minutes}), (60, {minutes}), (3600, {hours})) AS x (s, number),
       generate_series(0, x.number) AS n, ojs_dispatch AS d;
DELETE FROM ojs_fold_position;
INSERT INTO ojs_fold_position (id, stamp) VALUES (1, pg_snapshot_xmax(pg_current_snapshot()))
