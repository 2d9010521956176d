-- aggregate_events: add the events since the last run to the counts. It takes whole transactions, up to
-- and with the transaction that holds event number `batch`, so that a transaction larger than the batch
-- passes, too.
-- Events below the oldest running transaction are complete: see models.Event. Each is added once,
-- because the position moves in the same statement, to each of the `spans`: see models.Period.
-- Events that are equal for all counts below are grouped first (`event`): each count then reads a few
-- rows for thousands of events.
-- Locks: the position row, waited for; two runs follow each other.
WITH position AS MATERIALIZED (
    SELECT stamp FROM ojs_fold_position WHERE id = 1 FOR UPDATE
), upto AS MATERIALIZED (
    SELECT least(pg_snapshot_xmin(pg_current_snapshot()),
                 coalesce((SELECT (e.stamp::text::bigint + 1)::text::xid8 FROM ojs_event AS e
                            WHERE e.stamp >= (SELECT stamp FROM position)
                            ORDER BY e.stamp, e.seq OFFSET %(batch)s::int - 1 LIMIT 1),
                          pg_snapshot_xmin(pg_current_snapshot()))) AS stamp
), objective AS MATERIALIZED (
    SELECT name, (config -> 'objective' ->> 'start_within_ms')::bigint AS within_ms
      FROM ojs_queue WHERE config ? 'objective'
), event AS MATERIALIZED (
    -- of jobs; an event without a job stands for `jobs` removed jobs
    SELECT tenant, queue, type, kind, from_state, to_state, pool, limits,
           job_id IS NOT NULL AS is_of_job, date_trunc('second', at) AS second,
           CASE WHEN kind = 3 THEN width_bucket(took_ms - 0.5::float8, %(wait_bounds)s::float8[])
                WHEN kind IN (4, 5) THEN width_bucket(took_ms - 0.5::float8, %(run_bounds)s::float8[])
            END AS bucket,
           CASE WHEN kind = 4
                THEN ceil(ln(greatest(took_ms + waited_ms, 1)) / ln(1.2::float8))::smallint
            END AS latency,
           CASE WHEN kind = 3 THEN took_ms > o.within_ms END AS is_late,
           count(*) AS events, sum(bytes) AS bytes, sum(took_ms) AS took_ms,
           sum(CASE WHEN job_id IS NULL THEN (data ->> 'count')::int ELSE 1 END) AS jobs,
           min(stamp) AS stamp, max(at) AS last_at
      FROM ojs_event LEFT JOIN objective AS o ON o.name = queue
     WHERE stamp >= (SELECT stamp FROM position) AND stamp < (SELECT stamp FROM upto)
       AND (job_id IS NOT NULL OR from_state IS NOT NULL)
     GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
), depth AS (
    INSERT INTO ojs_depth AS d (queue, state, jobs)
    SELECT queue, state, sum(n) FROM (
        SELECT queue, to_state AS state, sum(events) AS n FROM event
         WHERE to_state IS NOT NULL GROUP BY 1, 2
        UNION ALL
        SELECT queue, from_state, -sum(jobs) FROM event WHERE from_state IS NOT NULL GROUP BY 1, 2
    ) AS c GROUP BY queue, state ORDER BY queue, state
    ON CONFLICT (queue, state) DO UPDATE SET jobs = d.jobs + excluded.jobs
), size AS (
    INSERT INTO ojs_queue_size AS d (queue, bytes)
    SELECT queue, sum(bytes) FROM event WHERE bytes IS NOT NULL GROUP BY queue ORDER BY queue
    ON CONFLICT (queue) DO UPDATE SET bytes = d.bytes + excluded.bytes
), came AS MATERIALIZED (
    SELECT tenant, min(stamp) AS stamp FROM event GROUP BY tenant
), label AS MATERIALIZED (
    SELECT l.* FROM ojs_tenant_labels(
           (SELECT array_agg(c.tenant ORDER BY c.stamp, c.tenant) FROM came AS c),
           %(tenants)s::int) AS l
), counted AS MATERIALIZED (
    SELECT date_trunc('minute', second) AS minute, queue, type, label,
           coalesce(sum(events) FILTER (WHERE from_state IS NULL AND to_state IS NOT NULL
                                              AND kind NOT IN (103, 104)), 0) AS enqueued,
           coalesce(sum(events) FILTER (WHERE kind = 3), 0) AS started,
           coalesce(sum(events) FILTER (WHERE kind = 4), 0) AS completed,
           coalesce(sum(events) FILTER (WHERE kind = 5), 0) AS failed,
           coalesce(sum(events) FILTER (WHERE kind = 6), 0) AS retried,
           coalesce(sum(events) FILTER (WHERE kind = 7), 0) AS discarded,
           coalesce(sum(events) FILTER (WHERE kind = 9), 0) AS cancelled,
           coalesce(sum(events) FILTER (WHERE kind = 8), 0) AS expired,
           coalesce(sum(took_ms) FILTER (WHERE kind = 3), 0) AS wait_ms,
           coalesce(sum(took_ms) FILTER (WHERE kind = 4), 0) AS run_ms
      FROM event JOIN label USING (tenant) GROUP BY 1, 2, 3, 4
), span AS MATERIALIZED (
    SELECT s AS span_s, s * interval '1 second' AS span FROM unnest(%(spans)s::int[]) AS s
), period AS (
    INSERT INTO ojs_period AS m (span_s, at, queue, type, enqueued, started, completed, failed,
                                 retried, discarded, cancelled, expired, wait_ms, run_ms)
    SELECT s.span_s, date_bin(s.span, c.minute, timestamptz 'epoch'), c.queue, c.type,
           sum(enqueued), sum(started), sum(completed), sum(failed), sum(retried), sum(discarded),
           sum(cancelled), sum(expired), sum(wait_ms), sum(run_ms)
      FROM counted AS c CROSS JOIN span AS s GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (span_s, at, queue, type) DO UPDATE
       SET enqueued = m.enqueued + excluded.enqueued, started = m.started + excluded.started,
           completed = m.completed + excluded.completed, failed = m.failed + excluded.failed,
           retried = m.retried + excluded.retried, discarded = m.discarded + excluded.discarded,
           cancelled = m.cancelled + excluded.cancelled, expired = m.expired + excluded.expired,
           wait_ms = m.wait_ms + excluded.wait_ms, run_ms = m.run_ms + excluded.run_ms
), total AS (
    INSERT INTO ojs_total AS m (queue, type, tenant, enqueued, started, completed, failed, retried,
                                discarded, cancelled, expired, wait_ms, run_ms)
    SELECT queue, type, label, sum(enqueued), sum(started), sum(completed), sum(failed),
           sum(retried), sum(discarded), sum(cancelled), sum(expired), sum(wait_ms), sum(run_ms)
      FROM counted GROUP BY queue, type, label ORDER BY queue, type, label
    ON CONFLICT (queue, type, tenant) DO UPDATE
       SET enqueued = m.enqueued + excluded.enqueued, started = m.started + excluded.started,
           completed = m.completed + excluded.completed, failed = m.failed + excluded.failed,
           retried = m.retried + excluded.retried, discarded = m.discarded + excluded.discarded,
           cancelled = m.cancelled + excluded.cancelled, expired = m.expired + excluded.expired,
           wait_ms = m.wait_ms + excluded.wait_ms, run_ms = m.run_ms + excluded.run_ms
), duration AS (
    INSERT INTO ojs_duration AS d (queue, type, tenant, measure, bucket, jobs, took_ms)
    SELECT queue, type, label, CASE kind WHEN 3 THEN 0 WHEN 4 THEN 1 ELSE 2 END AS measure, bucket,
           sum(events), sum(took_ms)
      FROM event JOIN label USING (tenant)
     WHERE bucket IS NOT NULL GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (queue, type, tenant, measure, bucket) DO UPDATE
       SET jobs = d.jobs + excluded.jobs, took_ms = d.took_ms + excluded.took_ms
), latency AS (
    INSERT INTO ojs_latency AS d (span_s, at, queue, bucket, jobs)
    SELECT s.span_s, date_bin(s.span, m.minute, timestamptz 'epoch'), m.queue, m.bucket, sum(m.jobs)
      FROM (SELECT date_trunc('minute', second) AS minute, queue, latency AS bucket,
                   sum(events) AS jobs
              FROM event WHERE latency IS NOT NULL GROUP BY 1, 2, 3) AS m
     CROSS JOIN span AS s GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (span_s, at, queue, bucket) DO UPDATE SET jobs = d.jobs + excluded.jobs
), tenant_depth AS (
    INSERT INTO ojs_tenant_depth AS d (tenant, queue, state, jobs)
    SELECT tenant, queue, state, sum(n) FROM (
        SELECT tenant, queue, to_state AS state, sum(jobs) AS n FROM event
         WHERE to_state IS NOT NULL GROUP BY 1, 2, 3
        UNION ALL
        SELECT tenant, queue, from_state, -sum(jobs) FROM event
         WHERE from_state IS NOT NULL GROUP BY 1, 2, 3
    ) AS c GROUP BY tenant, queue, state
    HAVING sum(n) <> 0  -- jobs that became active and ended in between
     ORDER BY tenant, queue, state
    ON CONFLICT (tenant, queue, state) DO UPDATE SET jobs = d.jobs + excluded.jobs
), tenant_period AS (
    INSERT INTO ojs_tenant_period AS m (tenant, span_s, at, queue, enqueued, started, completed,
                                        failed, wait_ms, run_ms)
    SELECT t.tenant, s.span_s, date_bin(s.span, t.minute, timestamptz 'epoch'), t.queue,
           sum(enqueued), sum(started), sum(completed), sum(failed), sum(wait_ms), sum(run_ms)
      FROM (SELECT tenant, date_trunc('minute', second) AS minute, queue,
                   coalesce(sum(events) FILTER (WHERE from_state IS NULL AND to_state IS NOT NULL
                                                      AND kind NOT IN (103, 104)), 0) AS enqueued,
                   coalesce(sum(events) FILTER (WHERE kind = 3), 0) AS started,
                   coalesce(sum(events) FILTER (WHERE kind = 4), 0) AS completed,
                   coalesce(sum(events) FILTER (WHERE kind = 5), 0) AS failed,
                   coalesce(sum(took_ms) FILTER (WHERE kind = 3), 0) AS wait_ms,
                   coalesce(sum(took_ms) FILTER (WHERE kind = 4), 0) AS run_ms
              FROM event WHERE is_of_job GROUP BY 1, 2, 3) AS t
     CROSS JOIN span AS s GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (tenant, span_s, at, queue) DO UPDATE
       SET enqueued = m.enqueued + excluded.enqueued, started = m.started + excluded.started,
           completed = m.completed + excluded.completed, failed = m.failed + excluded.failed,
           wait_ms = m.wait_ms + excluded.wait_ms, run_ms = m.run_ms + excluded.run_ms
), limit_wait AS (
    INSERT INTO ojs_limit_wait AS d (limit_id, bucket, jobs, took_ms)
    SELECT u.id, e.bucket, sum(e.events), sum(e.took_ms)
      FROM event AS e CROSS JOIN LATERAL unnest(e.limits) AS u (id)
     WHERE e.kind = 3 AND e.bucket IS NOT NULL
     GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (limit_id, bucket) DO UPDATE
       SET jobs = d.jobs + excluded.jobs, took_ms = d.took_ms + excluded.took_ms
), dispatched AS MATERIALIZED (
    SELECT queue, coalesce(pool, '') AS pool, second, sum(events) AS jobs,
           coalesce(sum(took_ms), 0) AS wait_ms, max(last_at) AS last_at
      FROM event WHERE kind = 3 GROUP BY 1, 2, 3
), dispatch AS (
    INSERT INTO ojs_dispatch AS d (queue, pool, jobs, last_at)
    SELECT queue, pool, sum(jobs), max(last_at) FROM dispatched GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (queue, pool) DO UPDATE
       SET jobs = d.jobs + excluded.jobs, last_at = greatest(d.last_at, excluded.last_at)
), dispatch_period AS (
    INSERT INTO ojs_dispatch_period AS m (span_s, at, queue, pool, jobs, wait_ms)
    SELECT s, date_bin(s * interval '1 second', d.second, timestamptz 'epoch'), d.queue, d.pool,
           sum(d.jobs), sum(d.wait_ms)
      FROM dispatched AS d CROSS JOIN unnest(%(dispatch_spans)s::int[]) AS s
     GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (span_s, at, queue, pool) DO UPDATE
       SET jobs = m.jobs + excluded.jobs, wait_ms = m.wait_ms + excluded.wait_ms
), judged AS MATERIALIZED (
    SELECT e.second, e.queue, o.within_ms, sum(e.events) AS started,
           coalesce(sum(e.events) FILTER (WHERE e.is_late), 0) AS late
      FROM event AS e JOIN objective AS o ON o.name = e.queue
     WHERE e.kind = 3 GROUP BY 1, 2, 3
), objective_period AS (
    INSERT INTO ojs_objective_period AS m (span_s, at, queue, within_ms, started, late)
    SELECT s, date_bin(s * interval '1 second', j.second, timestamptz 'epoch'), j.queue, j.within_ms,
           sum(j.started), sum(j.late)
      FROM judged AS j CROSS JOIN unnest(%(objective_spans)s::int[]) AS s
     GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (span_s, at, queue, within_ms) DO UPDATE
       SET started = m.started + excluded.started, late = m.late + excluded.late
), objective_total AS (
    INSERT INTO ojs_objective_total AS m (queue, started, late)
    SELECT queue, sum(started), sum(late) FROM judged GROUP BY 1 ORDER BY 1
    ON CONFLICT (queue) DO UPDATE
       SET started = m.started + excluded.started, late = m.late + excluded.late
), tally AS (
    -- refused, dropped, limit reached, starved; limits of tenants are not shown
    INSERT INTO ojs_tally AS d (kind, name, detail, times)
    SELECT e.kind, coalesce(m.name, e.queue), coalesce(e.data ->> 'strategy', ''), count(*)
      FROM ojs_event AS e
      LEFT JOIN LATERAL (
           SELECT CASE l.kind WHEN 1 THEN 'queue:' WHEN 3 THEN 'type:' ELSE '' END || l.key AS name
             FROM ojs_limit AS l WHERE l.id = e.limits[1] AND l.kind <> 2) AS m ON true
     WHERE e.stamp >= (SELECT stamp FROM position) AND e.stamp < (SELECT stamp FROM upto)
       AND e.kind IN (71, 72, 74, 90) AND (e.kind = 74) = (m.name IS NOT NULL)
     GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (kind, name, detail) DO UPDATE SET times = d.times + excluded.times
), moved AS (
    UPDATE ojs_fold_position AS p SET stamp = greatest(p.stamp, (SELECT stamp FROM upto))
     WHERE p.id = 1
)
SELECT coalesce(sum(events), 0)::int AS aggregated,
       EXISTS (SELECT 1 FROM position) AS is_placed FROM event
