-- heartbeat: store a worker's sign of life, extend the leases that it names, return cancelled jobs.
-- A lease is never shortened; its length is the request's, else the length at the claim.
--
-- `tenant`: the tenant that the caller is bound to; null: none. The first tenant owns the worker
-- for good. A worker without a tenant belongs to a tenant while it runs jobs and all of them are of
-- that tenant. If a live worker names another pool than its own, or belongs to another tenant, the
-- statement only returns the pool (`conflict`).
--
-- `declaration` has the members of the worker's declaration that this report sets; null removes a
-- member. `declared` is the number of the whole declaration, 0 for none. `tell_beats` and
-- `tell_leases`: events of heartbeats, which are off by default for their volume.
-- Locks: the worker, then its leases in id order.
WITH before AS (
    SELECT w.reported, w.last_heartbeat_at, w.dead_at, w.stopped_at, w.started_at, w.pool
      FROM ojs_worker AS w WHERE w.id = %(worker_id)s::text
), given AS (
    SELECT jsonb_strip_nulls(%(declaration)s::jsonb) AS declaration
), beat AS (
    INSERT INTO ojs_worker AS w (id, reported, is_draining, hostname, pid, queues, concurrency,
                                 labels, declaration, declared, pool, tenant, started_at,
                                 last_heartbeat_at, stopped_at)
    SELECT %(worker_id)s::text, %(reported)s::smallint, %(draining)s::boolean,
           %(hostname)s::text, %(pid)s::bigint, %(queues)s::jsonb, %(concurrency)s::int,
           %(labels)s::jsonb, g.declaration,
           CASE WHEN g.declaration = '{}' THEN 0 ELSE hashtextextended(g.declaration::text, 0) END,
           %(pool)s::text, %(tenant)s::text, coalesce(%(started_at)s::timestamptz, now()), now(),
           CASE WHEN %(stopped)s::boolean THEN now() END
      FROM given AS g
    ON CONFLICT (id) DO UPDATE
       SET reported = excluded.reported, is_draining = excluded.is_draining,
           last_heartbeat_at = now(), dead_at = NULL, stopped_at = excluded.stopped_at,
           hostname = coalesce(excluded.hostname, w.hostname), pid = coalesce(excluded.pid, w.pid),
           queues = coalesce(excluded.queues, w.queues),
           concurrency = coalesce(excluded.concurrency, w.concurrency),
           labels = coalesce(excluded.labels, w.labels), pool = coalesce(excluded.pool, w.pool),
           (declaration, declared) = (
               SELECT d.whole, CASE WHEN d.whole = '{}' THEN 0
                                    ELSE hashtextextended(d.whole::text, 0) END
                 FROM (SELECT jsonb_strip_nulls(
                           CASE WHEN jsonb_typeof(w.declaration) = 'object' THEN w.declaration
                                ELSE '{}' END || %(declaration)s::jsonb) AS whole) AS d
                WHERE %(declaration)s::jsonb IS NOT NULL
                UNION ALL
               SELECT w.declaration, w.declared WHERE %(declaration)s::jsonb IS NULL),
           started_at = coalesce(%(started_at)s::timestamptz, w.started_at)
     WHERE (excluded.pool IS NULL OR coalesce(w.pool, excluded.pool) = excluded.pool
            OR w.dead_at IS NOT NULL OR w.stopped_at IS NOT NULL)
       AND (excluded.tenant IS NULL OR w.tenant = excluded.tenant
            OR w.tenant IS NULL AND (
                SELECT bool_and(l.tenant = excluded.tenant) FROM ojs_lease AS l
                 WHERE l.worker_id = w.id))
    RETURNING w.directive, w.declared, w.declaration
), held AS MATERIALIZED (
    SELECT l.id FROM ojs_lease AS l
     WHERE l.id = ANY (%(ids)s::uuid[]) AND EXISTS (SELECT 1 FROM beat)
       AND (l.worker_id IS NULL OR l.worker_id = %(worker_id)s::text)
     ORDER BY l.id FOR UPDATE
), extended AS (
    UPDATE ojs_lease AS l
       SET lease_until = greatest(l.lease_until, now()
               + coalesce(%(lease_ms)s::bigint, l.lease_ms) * interval '1 millisecond')
      FROM held AS h WHERE l.id = h.id
    RETURNING l.id, l.attempt, l.lease_until
), cancelled AS (
    SELECT j.id FROM ojs_job AS j WHERE j.id = ANY (%(ids)s::uuid[]) AND j.state = 7
), told AS (
    INSERT INTO ojs_event (at, kind, worker_id, data)
    SELECT now(), k.kind, %(worker_id)s::text, k.data
      FROM (VALUES (0)) AS one (x) LEFT JOIN before AS b ON true
     CROSS JOIN LATERAL (VALUES
           (30, b.last_heartbeat_at IS NULL OR b.dead_at IS NOT NULL OR b.stopped_at IS NOT NULL,
            jsonb_build_object('queues', %(queues)s::jsonb, 'concurrency', %(concurrency)s::int)),
           (31, %(reported)s::smallint > 0 AND NOT %(stopped)s::boolean AND coalesce(b.reported, 0) = 0,
            jsonb_build_object('active_jobs', cardinality(%(ids)s::uuid[]))),
           (32, %(stopped)s::boolean AND b.stopped_at IS NULL,
            jsonb_build_object('reason', 'shutdown', 'uptime_ms',
                (extract(epoch FROM now() - b.started_at) * 1000)::bigint)),
           (33, %(tell_beats)s::boolean,
            jsonb_build_object('active_jobs', cardinality(%(ids)s::uuid[]),
                               'queues', %(queues)s::jsonb))) AS k (kind, due, data)
     WHERE k.due AND EXISTS (SELECT 1 FROM beat)
), told_jobs AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, attempt, worker_id, data)
    SELECT now(), 10, x.id, j.queue, j.type, j.tenant, x.attempt, %(worker_id)s::text,
           jsonb_build_object('visible_until', ojs_time(x.lease_until))
      FROM extended AS x JOIN ojs_job AS j ON j.id = x.id
     WHERE %(tell_leases)s::boolean
)
SELECT (SELECT directive FROM beat) AS directive, now() AS server_time,
       array(SELECT id FROM extended) AS extended, array(SELECT id FROM cancelled) AS cancelled,
       CASE WHEN %(with_tests)s::boolean THEN
            (SELECT j.meta ->> 'test_directive' FROM held AS h JOIN ojs_job AS j ON j.id = h.id
              WHERE j.meta ->> 'test_directive' IN ('quiet', 'terminate') ORDER BY j.id LIMIT 1)
       END AS test_directive,
       CASE WHEN NOT EXISTS (SELECT 1 FROM beat) THEN coalesce((SELECT pool FROM before), '') END
           AS conflict,
       CASE WHEN %(declaration)s::jsonb IS NOT NULL THEN (SELECT declared FROM beat) END AS declared,
       CASE WHEN %(declaration)s::jsonb IS NOT NULL THEN (SELECT declaration::text FROM beat) END
           AS declaration
