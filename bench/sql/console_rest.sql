-- console_rest: audit, keys, schedules, workflows, schemas, webhooks.
INSERT INTO ojs_audit (actor, action, target, at, data)
SELECT 'console:user' || n % 30,
       (ARRAY['queue.paused', 'job.cancelled', 'tenant.configured', 'limit.changed'])[1 + n % 4],
       (ARRAY['queue-', 'job-', 'tenant-', 'upstream-'])[1 + n % 4] || n % 100,
       now() - ({audited} - n) * interval '1 minute', '{}'
  FROM generate_series(1, {audited}) AS n;
INSERT INTO ojs_config_change (kind, name, actor, action, at, before, after)
SELECT 'queue', 'queue-' || n % 100, 'console:user' || n % 30, 'queue.configured',
       now() - ({audited} - n) * interval '1 minute', '{}', '{"concurrency": 5}'
  FROM generate_series(1, {audited}) AS n;
INSERT INTO ojs_attention_note (about, name, text, updated_at, updated_by)
SELECT 'queue', 'queue-' || n, '**Call** the team.', now(), 'ada' FROM generate_series(0, 99) AS n;
INSERT INTO ojs_attention_procedure (name, about, subject, verb, wanted, updated_at, updated_by)
SELECT 'retry-queue-' || n, 'queue', 'queue-' || n, 'retry', '{"state": "discarded"}', now(), 'ada'
  FROM generate_series(0, 99) AS n;
INSERT INTO ojs_api_key (name, prefix, secret_hash, scopes, queues_enqueue, queues_fetch, job_types,
                         created_by)
SELECT 'key ' || n, 'bench' || n, '', '["producer"]', '[]', '[]', '[]', ''
  FROM generate_series(1, 10 * {queues}) AS n;
INSERT INTO ojs_cron_entry (tenant, name, expression, timezone, template, overlap_policy, enabled,
                            due_at, next_run_at, last_run_at, run_count, noted)
SELECT CASE WHEN n % 2 = 0 THEN 'tenant-' || n END, 'schedule-' || n, n % 60 || ' * * * *',
       'Europe/Berlin', '{"type": "type-0", "args": [1]}', 'allow', n % 7 > 0,
       CASE WHEN n % 7 > 0 THEN now() + n * interval '1 second' END,
       CASE WHEN n % 7 > 0 THEN now() + n * interval '1 second' END,
       now() - interval '1 hour', 100, 100
  FROM generate_series(1, 20 * {queues}) AS n;
INSERT INTO ojs_cron_run (entry_id, slot, number, scheduled_at, job_id)
SELECT c.id, n, n, now() - (100 - n) * interval '1 hour', uuidv7()
  FROM ojs_cron_entry AS c, generate_series(0, 99) AS n;
CREATE TEMP TABLE grouped ON COMMIT PRESERVE ROWS AS
SELECT uuidv7() AS id, n, 1 + n % 3 AS kind, CASE n % 10 WHEN 0 THEN 1 WHEN 1 THEN 3 ELSE 2 END AS state
  FROM generate_series(1, {audited}) AS n;
INSERT INTO ojs_workflow (id, root_id, depth, kind, state, name, tenant, caller, callbacks, members,
                          slots, open, completed, started_at, finished_at)
SELECT id, id, 1, kind, state, 'workflow ' || n, 'tenant-' || n % {tenants}, '{}', '{}', 10, 0,
       CASE WHEN state = 1 THEN 5 ELSE 0 END, 5, now(), CASE WHEN state > 1 THEN now() END
  FROM grouped;
INSERT INTO ojs_workflow_step (workflow_id, index, name, type, callback, state, depends_on, dependents,
                               waits, slots, started_at, finished_at)
SELECT g.id, i, 'step-' || i, 'type-0', 0, CASE WHEN g.state > 1 OR i < 5 THEN 3 ELSE 0 END,
       CASE WHEN g.kind = 1 AND i > 0 THEN ARRAY[i - 1] ELSE '{}' END,
       CASE WHEN g.kind = 1 AND i < 9 THEN ARRAY[i + 1] ELSE '{}' END,
       CASE WHEN g.kind = 1 AND i > 5 AND g.state = 1 THEN 1 ELSE 0 END, 0, now(), now()
  FROM grouped AS g, generate_series(0, 9) AS i;
INSERT INTO ojs_schema (type, version, major, minor, patch, document, digest, target, mode,
                        compatible_with)
SELECT 'type-' || t, v || '.0.0', v, 0, 0, '{"type": "array", "minItems": ' || v || '}', t || '-' || v,
       'args', 'warn', '[]'
  FROM generate_series(0, 2 * {queues} - 1) AS t, generate_series(1, 3) AS v;
INSERT INTO ojs_version_started (route, jobs) SELECT id, 100000 FROM ojs_version_route;
INSERT INTO ojs_version_outcome (route, at, acked, failed)
SELECT r.id, date_bin('10 seconds', now(), 'epoch') - n * interval '10 seconds', 99, 1
  FROM ojs_version_route AS r, generate_series(0, {minutes}) AS n;
INSERT INTO ojs_version_held (route, since, jobs)
SELECT id, now() - interval '10 minutes', 1000 FROM ojs_version_route ORDER BY id LIMIT 3;
INSERT INTO ojs_webhook_subscription (id, url, events, queues, job_types, secret, active,
                                      metadata, created_by)
SELECT 'subscription-' || n, 'https://hooks.example.org/' || n, '["job.failed"]', '[]', '[]', '', true,
       '{}', ''
  FROM generate_series(1, {queues}) AS n;
INSERT INTO ojs_webhook_delivery (id, subscription_id, event_id, event_type, body, status, attempts,
                                  created_at, ended_at)
SELECT 'delivery-' || n, 'subscription-' || 1 + n % {queues}, 'event-' || n, 'job.failed', '{}',
       CASE WHEN n % 10 = 0 THEN 'dead' ELSE 'delivered' END, 1,
       now() - ({audited} - n) * interval '1 second', now()
  FROM generate_series(1, {audited}) AS n;
INSERT INTO ojs_webhook_attempt (delivery_id, number, took_ms, status_code)
SELECT 'delivery-' || n, 1, 40, 200 FROM generate_series(1, {audited}) AS n;

-- one finding, which its page shows
INSERT INTO ojs_attention_finding (id, rule, subject, severity, since, jobs, tenants, facts)
VALUES ('00000000-0000-7000-8000-000000000001', 'queue_paused', 'queue-1', 2, now(), 3, 1, '{}')
