-- console_places: queues, tenants, limits, lanes, workers and pools of the jobs.
-- Lane n belongs to queue n modulo the queues and to tenant n divided by the queues. The first ten
-- queues have versions. The large tables are not logged: they are only read afterwards.
ALTER TABLE ojs_job SET UNLOGGED;
ALTER TABLE ojs_finished SET UNLOGGED;
ALTER TABLE ojs_event SET UNLOGGED;
ALTER TABLE ojs_ready SET UNLOGGED;
ALTER TABLE ojs_later SET UNLOGGED;
INSERT INTO ojs_queue (name) SELECT 'queue-' || n FROM generate_series(0, {queues} - 1) AS n
ON CONFLICT DO NOTHING;
INSERT INTO ojs_tenant (id, name, state, quota_mode, source, max_concurrency, fairness_weight)
SELECT 'tenant-' || n, 'Customer ' || n, CASE WHEN n % 50 = 7 THEN 'suspended' ELSE 'active' END,
       'hard', 'dynamic', CASE WHEN n % 10 = 9 THEN 100 END, 1 + n % 3
  FROM generate_series(0, 10 * {tenants} - 1) AS n;
INSERT INTO ojs_limit (id, kind, tenant, key, policy)
SELECT {lane} + n, n % 2 * 2, CASE n % 2 WHEN 0 THEN '*' ELSE 'tenant-' || n END,
       CASE n % 2 WHEN 0 THEN 'upstream-' || n ELSE '' END, '{"concurrency": 100}'
  FROM generate_series(0, {tenants} - 1) AS n;
INSERT INTO ojs_version_route (id, type, major, minor)
SELECT {lane} + 2 * q + v, 'type-' || q, 1 + v, 0
  FROM generate_series(0, least(10, {queues}) - 1) AS q, generate_series(0, 1) AS v;
CREATE TEMP TABLE place ON COMMIT PRESERVE ROWS AS
SELECT {lane} + n AS id, 'queue-' || n % {queues} AS queue, 'tenant-' || n / {queues} AS tenant,
       CASE WHEN n / {queues} % 10 = 9 THEN 5 ELSE 0 END AS priority,
       CASE WHEN n % {queues} < 10 THEN {lane} + 2 * (n % {queues}) + n / {queues} % 2
            ELSE 0 END AS route
  FROM generate_series(0, {queues} * {tenants} - 1) AS n;
INSERT INTO ojs_lane_key (id, queue, priority, tenant, route)
SELECT id, queue, priority, tenant, route FROM place;
INSERT INTO ojs_lane (id, queue, priority, tenant, route, active)
SELECT id, queue, priority, tenant, route, true FROM place;
INSERT INTO ojs_worker (id, last_heartbeat_at, dead_at, queues, concurrency, hostname, pid)
SELECT 'worker-' || n, now() - interval '1 hour' * (n % 20 = 19)::int,
       CASE WHEN n % 20 = 19 THEN now() END, '["queue-0", "queue-1"]', 20, 'host-' || n / 8, n
  FROM generate_series(0, 10 * {queues} - 1) AS n;
INSERT INTO ojs_pool (name, strategy, isolated, prevention)
SELECT 'pool-' || n, 1, false, '{}' FROM generate_series(0, 4) AS n;
INSERT INTO ojs_pool_queue (pool_id, position, queue, weight)
SELECT 'pool-' || p, q, 'queue-' || q, 1 + (p + q) % 3
  FROM generate_series(0, 4) AS p, generate_series(0, least(10, {queues}) - 1) AS q
