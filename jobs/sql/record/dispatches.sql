-- dispatches: how many jobs of each queue started from `window_ms` ago on, and the sum of their waits.
-- It adds seconds up to a whole minute, minutes up to a whole hour, hours, and unaggregated events. The
-- window begins with the second that holds its first moment, or with the minute if it is longer than
-- `by_second_ms`. `queues` null: all; `pool` null: all, empty: workers without a pool.
WITH began AS MATERIALIZED (
    SELECT date_trunc(CASE WHEN %(window_ms)s::bigint > %(by_second_ms)s::bigint THEN 'minute'
                           ELSE 'second' END,
                      now() - %(window_ms)s::bigint * interval '1 millisecond') AS at
), edge AS MATERIALIZED (
    SELECT b.at AS second,
           date_trunc('minute', b.at + interval '1 minute' - interval '1 microsecond') AS minute,
           date_bin(interval '1 hour', b.at + interval '1 hour' - interval '1 microsecond',
                    timestamptz 'epoch') AS hour
      FROM began AS b
)
SELECT c.queue, sum(c.jobs)::bigint, sum(c.wait_ms)::bigint FROM (
    SELECT d.queue, d.pool, d.jobs, d.wait_ms FROM ojs_dispatch_period AS d
     WHERE d.span_s = 1 AND d.at >= (SELECT second FROM edge) AND d.at < (SELECT minute FROM edge)
    UNION ALL
    SELECT d.queue, d.pool, d.jobs, d.wait_ms FROM ojs_dispatch_period AS d
     WHERE d.span_s = 60 AND d.at >= (SELECT minute FROM edge) AND d.at < (SELECT hour FROM edge)
    UNION ALL
    SELECT d.queue, d.pool, d.jobs, d.wait_ms FROM ojs_dispatch_period AS d
     WHERE d.span_s = 3600 AND d.at >= (SELECT hour FROM edge)
    UNION ALL
    SELECT e.queue, coalesce(e.pool, ''), 1, e.took_ms FROM ojs_event AS e
     WHERE e.stamp >= coalesce((SELECT p.stamp FROM ojs_fold_position AS p WHERE p.id = 1), '0')
       AND e.stamp <= '18446744073709551615'  -- a range: see depths.sql
       AND e.kind = 3 AND e.at >= (SELECT second FROM edge)
) AS c
 WHERE (%(queues)s::text[] IS NULL OR c.queue = ANY (%(queues)s::text[]))
   AND (%(pool)s::text IS NULL OR c.pool = %(pool)s::text)
 GROUP BY c.queue
