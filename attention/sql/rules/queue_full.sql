-- queue_full: find queues that have used most of a bound, of jobs or of bytes. A queue without starts
-- in the last 15 minutes is held by something; with starts, its workers are too slow.
WITH bounded AS MATERIALIZED (
    SELECT q.name, q.paused_at, q.config #>> '{backpressure,strategy}' AS strategy,
           (q.config #>> '{backpressure,max_depth}')::bigint AS max_depth,
           (q.config #>> '{backpressure,max_size_bytes}')::bigint AS max_size
      FROM ojs_queue AS q WHERE q.config ? 'backpressure'
), used AS MATERIALIZED (
    SELECT b.*, coalesce(l.jobs, 0) AS jobs, u.unit, u.held, u.bound
      FROM bounded AS b
      LEFT JOIN ojs_loads(ARRAY(SELECT name FROM bounded)) AS l ON l.queue = b.name
     CROSS JOIN LATERAL (
           SELECT x.* FROM (VALUES ('jobs', coalesce(l.jobs, 0), b.max_depth),
                                   ('bytes', coalesce(l.bytes, 0), b.max_size)) AS x (unit, held, bound)
            WHERE x.bound > 0 ORDER BY x.held::float8 / x.bound DESC LIMIT 1) AS u
)
SELECT u.name, NULL::text, NULL::timestamptz, u.jobs, NULL::int,
       jsonb_build_object('unit', u.unit, 'held', u.held, 'bound', u.bound, 'strategy', u.strategy,
                          'percent', floor(100.0 * u.held / u.bound),
                          'is_paused', u.paused_at IS NOT NULL,
                          'started', (SELECT coalesce(sum(p.started), 0) FROM ojs_period AS p
                                       WHERE p.queue = u.name AND p.span_s = 60
                                         AND p.at > now() - interval '15 minutes'))::text
  FROM used AS u WHERE u.held * 100 >= %(percent)s::int * u.bound
 ORDER BY u.held::float8 / u.bound DESC, u.name LIMIT %(most)s::int
