-- console_jobs: jobs number `first` to `last` of `jobs`, made one after the other in the week before
-- `at`, in all states, with the events of the newest jobs.
WITH numbered AS MATERIALIZED (
    SELECT g.n, g.n % 1000 AS part, (g.n * 48271 + g.n / 1000) % ({queues} * {tenants}) AS lane,
           '{at}'::timestamptz - ({jobs} - g.n) * (interval '7 days' / {jobs}) AS at
      FROM generate_series({first}::bigint, {last}) AS g (n)
), job AS MATERIALIZED (
    SELECT (lpad(to_hex(floor(extract(epoch FROM m.at) * 1000)::bigint), 12, '0') || '70008000'
            || lpad(to_hex(m.n), 12, '0'))::uuid AS id,
           m.n, m.at, {lane} + m.lane AS lane_id, 'queue-' || m.lane % {queues} AS queue,
           'tenant-' || m.lane / {queues} AS tenant,
           'type-' || m.lane % {queues} + CASE WHEN m.lane % {queues} < 10 THEN 0
                                               ELSE {queues} * (m.n / 1000 % 3) END AS type,
           CASE WHEN m.lane / {queues} % 10 = 9 THEN 5 ELSE 0 END AS priority,
           CASE WHEN m.lane % {queues} < 10 THEN '"' || 1 + m.lane / {queues} % 2 || '.0"'
           END AS version,
           CASE WHEN m.part < 50 THEN 3 WHEN m.part < 80 THEN 1 WHEN m.part < 90 THEN 5
                WHEN m.part < 95 THEN 2 WHEN m.part < 96 THEN 4 WHEN m.part < 846 THEN 6
                WHEN m.part < 870 THEN 7 WHEN m.part < 950 THEN 9 ELSE 8 END AS kind,
           CASE WHEN m.part >= 870 OR m.part BETWEEN 80 AND 89 THEN jsonb_build_object(
                'type', 'Error' || m.n % 12, 'code', 'handler_error', 'retryable', true,
                'message', 'step ' || chr(97 + (m.n / 12 % 20)::int) || ' of order ' || m.n
                           || ' failed: upstream answered 503',
                'backtrace', '["handlers/orders.py:118 in charge", "clients/payments.py:64 in post",
                               "clients/base.py:31 in send", "http/pool.py:212 in urlopen"]'::jsonb)
           END AS error
      FROM numbered AS m
), stored AS (
    INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, version, watched, args, meta,
                         attributes, max_attempts, timeout_ms, created_at, state, attempt,
                         enqueued_at, started_at, finished_at, ran, dead_letter, error, errors)
    SELECT id, type, queue, tenant, lane_id, priority, version, false,
           jsonb_build_array(n, 'customer' || n % 9973 || '@example.org'),
           jsonb_build_object('trace_id', md5(n::text)), '{attributes}', 3, 1800000, at,
           CASE WHEN kind >= 6 THEN least(kind, 8) END,
           CASE WHEN kind IN (1, 2, 3) THEN 0 WHEN kind IN (4, 6) THEN 1 ELSE 3 END, at,
           CASE WHEN kind >= 4 THEN at + interval '1 second' END,
           CASE WHEN kind >= 6 THEN at + interval '3 seconds' END, kind = 6,
           CASE WHEN kind >= 8 THEN kind = 9 END, error,
           CASE WHEN error IS NOT NULL THEN jsonb_build_array(error) END
      FROM job
), waiting AS (
    INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at)
    SELECT id, lane_id, 0, at FROM job WHERE kind = 3
), later AS (
    INSERT INTO ojs_later (id, kind, due_at, lane_id, attempt)
    SELECT id, kind, CASE WHEN kind <> 2 THEN '{at}'::timestamptz + interval '1 day'
                                              + n % 86400 * interval '1 second' END,
           lane_id, CASE WHEN kind = 5 THEN 3 ELSE 0 END
      FROM job WHERE kind IN (1, 2, 5)
), running AS (
    INSERT INTO ojs_lease (id, lane_id, tenant, watched, worker_id, attempt, enqueued_at,
                           started_at, lease_ms, lease_until, timeout_at)
    SELECT id, lane_id, tenant, false, 'worker-' || n / 1000 % (10 * {queues}), 1, at,
           at + interval '1 second', 1800000, '{at}'::timestamptz + interval '1 day',
           '{at}'::timestamptz + interval '1 day'
      FROM job WHERE kind = 4
), ended AS (
    INSERT INTO ojs_finished (queue, kind, finished_at, id)
    SELECT queue, kind, at + interval '3 seconds', id FROM job WHERE kind >= 6
)
INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                       worker_id, took_ms, data)
SELECT at + e.late * interval '1 second', e.kind, id, queue, type, tenant, e.before, e.after,
       least(e.late, 1), CASE WHEN e.late > 0 THEN 'worker-' || n % 100 END, 1000 * e.late,
       CASE WHEN e.kind = 5 THEN jsonb_build_object('error', error) END
  FROM job CROSS JOIN LATERAL (VALUES
       (0, 1, NULL, CASE WHEN kind IN (1, 2) THEN kind ELSE 3 END, true),
       (1, 3, 3, 4, kind IN (4, 5, 6, 8, 9)), (2, 4, 4, 6, kind = 6),
       (2, 5, 4, NULL, kind IN (5, 8, 9)), (3, 6, 4, 5, kind = 5), (3, 7, 4, 8, kind IN (8, 9)),
       (3, 9, 3, 7, kind = 7)) AS e (late, kind, before, after, happened)
 WHERE e.happened AND n >= {jobs} - {evented}
 ORDER BY n, e.late, e.kind
