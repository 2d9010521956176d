-- fold: add the events since the last fold to the counts: whole transactions, up to and with the
-- one that holds event number `batch`, so that a transaction larger than the batch gets on, too.
-- Events below the oldest running transaction are complete: see models.Event. Each is added once,
-- because the position moves in the same statement.
-- Locks: the position row, waited for; two folds follow each other.
WITH position AS MATERIALIZED (
    SELECT stamp FROM ojs_fold_position WHERE id = 1 FOR UPDATE
), upto AS MATERIALIZED (
    SELECT least(pg_snapshot_xmin(pg_current_snapshot()),
                 coalesce((SELECT (e.stamp::text::bigint + 1)::text::xid8 FROM ojs_event AS e
                            WHERE e.stamp >= (SELECT stamp FROM position)
                            ORDER BY e.stamp, e.seq OFFSET %(batch)s::int - 1 LIMIT 1),
                          pg_snapshot_xmin(pg_current_snapshot()))) AS stamp
), event AS MATERIALIZED (
    SELECT e.* FROM ojs_event AS e
     WHERE e.stamp >= (SELECT stamp FROM position) AND e.stamp < (SELECT stamp FROM upto)
       AND e.job_id IS NOT NULL
), depth AS (
    INSERT INTO ojs_depth AS d (queue, state, jobs)
    SELECT queue, state, sum(n) FROM (
        SELECT queue, to_state AS state, count(*) AS n FROM event
         WHERE to_state IS NOT NULL GROUP BY 1, 2
        UNION ALL
        SELECT queue, from_state, -count(*) FROM event WHERE from_state IS NOT NULL GROUP BY 1, 2
    ) AS c GROUP BY queue, state ORDER BY queue, state
    ON CONFLICT (queue, state) DO UPDATE SET jobs = d.jobs + excluded.jobs
), counted AS MATERIALIZED (
    SELECT date_trunc('minute', at) AS minute, queue, type,
           count(*) FILTER (WHERE from_state IS NULL AND to_state IS NOT NULL) AS enqueued,
           count(*) FILTER (WHERE kind = 3) AS started,
           count(*) FILTER (WHERE kind = 4) AS completed,
           count(*) FILTER (WHERE kind = 5) AS failed,
           count(*) FILTER (WHERE kind = 6) AS retried,
           count(*) FILTER (WHERE kind = 7) AS discarded,
           count(*) FILTER (WHERE kind = 9) AS cancelled,
           count(*) FILTER (WHERE kind = 8) AS expired,
           coalesce(sum(took_ms) FILTER (WHERE kind = 3), 0) AS wait_ms,
           coalesce(sum(took_ms) FILTER (WHERE kind = 4), 0) AS run_ms
      FROM event GROUP BY 1, 2, 3
), minute AS (
    INSERT INTO ojs_minute AS m (minute, queue, type, enqueued, started, completed, failed,
                                 retried, discarded, cancelled, expired, wait_ms, run_ms)
    SELECT * FROM counted ORDER BY minute, queue, type
    ON CONFLICT (minute, queue, type) DO UPDATE
       SET enqueued = m.enqueued + excluded.enqueued, started = m.started + excluded.started,
           completed = m.completed + excluded.completed, failed = m.failed + excluded.failed,
           retried = m.retried + excluded.retried, discarded = m.discarded + excluded.discarded,
           cancelled = m.cancelled + excluded.cancelled, expired = m.expired + excluded.expired,
           wait_ms = m.wait_ms + excluded.wait_ms, run_ms = m.run_ms + excluded.run_ms
), total AS (
    INSERT INTO ojs_total AS m (queue, type, enqueued, started, completed, failed, retried,
                                discarded, cancelled, expired, wait_ms, run_ms)
    SELECT queue, type, sum(enqueued), sum(started), sum(completed), sum(failed), sum(retried),
           sum(discarded), sum(cancelled), sum(expired), sum(wait_ms), sum(run_ms)
      FROM counted GROUP BY queue, type ORDER BY queue, type
    ON CONFLICT (queue, type) DO UPDATE
       SET enqueued = m.enqueued + excluded.enqueued, started = m.started + excluded.started,
           completed = m.completed + excluded.completed, failed = m.failed + excluded.failed,
           retried = m.retried + excluded.retried, discarded = m.discarded + excluded.discarded,
           cancelled = m.cancelled + excluded.cancelled, expired = m.expired + excluded.expired,
           wait_ms = m.wait_ms + excluded.wait_ms, run_ms = m.run_ms + excluded.run_ms
), duration AS (
    INSERT INTO ojs_duration AS d (queue, type, measure, bucket, jobs, took_ms)
    SELECT queue, type, measure, bucket, count(*), sum(took_ms)
      FROM (SELECT queue, type, took_ms,
                   CASE kind WHEN 3 THEN 0 WHEN 4 THEN 1 ELSE 2 END AS measure,
                   CASE kind
                        WHEN 3 THEN width_bucket(took_ms - 0.5::float8, %(wait_bounds)s::float8[])
                        ELSE width_bucket(took_ms - 0.5::float8, %(run_bounds)s::float8[]) END AS bucket
              FROM event WHERE kind IN (3, 4, 5) AND took_ms IS NOT NULL) AS m
     GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ON CONFLICT (queue, type, measure, bucket) DO UPDATE
       SET jobs = d.jobs + excluded.jobs, took_ms = d.took_ms + excluded.took_ms
), moved AS (
    UPDATE ojs_fold_position AS p SET stamp = greatest(p.stamp, (SELECT stamp FROM upto))
     WHERE p.id = 1
)
SELECT count(*)::int AS folded, EXISTS (SELECT 1 FROM position) AS is_placed FROM event
