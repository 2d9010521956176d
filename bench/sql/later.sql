-- later: {waiting} jobs of the far future, and {due} jobs that become due one after the other, evenly
-- over {seconds} s that begin in {lead} s.
INSERT INTO ojs_queue (name) VALUES ('bench-late') ON CONFLICT DO NOTHING;
INSERT INTO ojs_lane_key (queue, priority, tenant) VALUES ('bench-late', 0, '_default')
ON CONFLICT DO NOTHING;
INSERT INTO ojs_lane (id, queue, priority, tenant)
SELECT k.id, k.queue, k.priority, k.tenant FROM ojs_lane_key AS k
 WHERE k.queue = 'bench-late' AND NOT EXISTS (SELECT 1 FROM ojs_lane AS l WHERE l.id = k.id);
INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, watched, args, meta, attributes,
                     max_attempts, timeout_ms, created_at, scheduled_at, attempt)
SELECT uuidv7(), '{type}', 'bench-late', '_default', k.id, 0, false, '{args}', '{meta}',
       '{attributes}', 3, 1800000, now(), now() + interval '30 days' + n * interval '1 second', 0
  FROM generate_series(1, {waiting}) AS n, ojs_lane_key AS k WHERE k.queue = 'bench-late';
INSERT INTO ojs_later (id, kind, due_at, lane_id, attempt)
SELECT id, 1, scheduled_at, lane_id, 0 FROM ojs_job WHERE queue = 'bench-late';
ANALYZE ojs_later;
ANALYZE ojs_job;
CREATE TABLE bench_due AS
SELECT uuidv7() AS id, clock_timestamp() + interval '{lead} seconds'
       + n * interval '{seconds} seconds' / {due} AS due_at
  FROM generate_series(1, {due}) AS n;
INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, watched, args, meta, attributes,
                     max_attempts, timeout_ms, created_at, scheduled_at, attempt)
SELECT d.id, '{type}', 'bench-late', '_default', k.id, 0, false, '{args}', '{meta}',
       '{attributes}', 3, 1800000, now(), d.due_at, 0
  FROM bench_due AS d, ojs_lane_key AS k WHERE k.queue = 'bench-late';
INSERT INTO ojs_later (id, kind, due_at, lane_id, attempt)
SELECT d.id, 1, d.due_at, k.id, 0
  FROM bench_due AS d, ojs_lane_key AS k WHERE k.queue = 'bench-late';
-- every {nth}th due time belongs to a schedule, too
INSERT INTO ojs_cron_entry (name, expression, timezone, template, overlap_policy, enabled, due_at,
                            next_run_at)
SELECT 'bench-' || n, '@every 30s', 'UTC',
       '{"type": "bench.cron", "args": [], "meta": {}, "options": {"queue": "bench-cron"}}', 'allow', true,
       d.due_at, d.due_at
  FROM (SELECT due_at, row_number() OVER (ORDER BY due_at) AS n FROM bench_due) AS d
 WHERE n % {nth} = 0
