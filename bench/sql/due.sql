-- due: jobs that become due all at once, with a copy of their rows for the limit to move.
INSERT INTO ojs_lane_key (queue, priority, tenant) VALUES ('bench-in', 0, 'bench-due')
ON CONFLICT DO NOTHING;
INSERT INTO ojs_lane (id, queue, priority, tenant)
SELECT k.id, k.queue, k.priority, k.tenant FROM ojs_lane_key AS k
 WHERE k.tenant = 'bench-due' AND NOT EXISTS (SELECT 1 FROM ojs_lane AS l WHERE l.id = k.id);
DROP TABLE IF EXISTS bench_later, bench_ready;
CREATE TABLE bench_later (LIKE ojs_later INCLUDING ALL);
CREATE TABLE bench_ready (LIKE ojs_ready INCLUDING ALL);
INSERT INTO bench_later (id, kind, due_at, lane_id, attempt)
SELECT uuidv7(), 1, now() + n * interval '1 microsecond', (SELECT id FROM ojs_lane_key
        WHERE tenant = 'bench-due'), 0
  FROM generate_series(1, {number}) AS n;
INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, watched, args, meta, attributes,
                     max_attempts, timeout_ms, created_at, attempt)
SELECT id, '{type}', 'bench-in', 'bench-due', lane_id, 0, false, '{args}', '{meta}',
       '{attributes}', 3, 1800000, now(), 0
  FROM bench_later;
ANALYZE bench_later;
INSERT INTO ojs_later SELECT * FROM bench_later;
