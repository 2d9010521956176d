-- saves: {jobs} active jobs of one worker with a checkpoint each, and a plain table with as many rows.
INSERT INTO ojs_lane_key (queue, priority, tenant) VALUES ('bench-saves', 0, '_default')
ON CONFLICT DO NOTHING;
INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, watched, args, meta, attributes,
                     max_attempts, timeout_ms, created_at, started_at, attempt)
SELECT ('019a0000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, '{type}', 'bench-saves', '_default',
       k.id, 0, true, '{args}', '{meta}', '{attributes}'::jsonb || '{ "last_checkpoint": null}', 3,
       1800000, now(), now(), 1
  FROM generate_series(1, {jobs}) AS n, ojs_lane_key AS k WHERE k.queue = 'bench-saves';
INSERT INTO ojs_lease (id, lane_id, tenant, watched, worker_id, attempt, enqueued_at, started_at,
                       lease_ms, lease_until, timeout_at)
SELECT id, lane_id, tenant, true, 'bench', 1, now(), now(), 3600000, now() + interval '1 hour',
       now() + interval '1 hour'
  FROM ojs_job WHERE queue = 'bench-saves';
INSERT INTO ojs_checkpoint (job_id, state, bytes, sequence, is_alone)
SELECT id, repeat('x', 1024), 1024, 1, true FROM ojs_job WHERE queue = 'bench-saves';
CREATE TABLE bench_saves (id uuid PRIMARY KEY, state text, saved_at timestamptz) WITH (fillfactor = 50);
INSERT INTO bench_saves SELECT job_id, state, now() FROM ojs_checkpoint;
ANALYZE ojs_checkpoint;
ANALYZE bench_saves
