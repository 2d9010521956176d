-- queue_late: find queues whose jobs waited longer than the objective, on average of the window.
-- `overrides` has other objectives by queue. `since` is the first minute after the last minute within
-- the objective, within two hours.
WITH recent AS MATERIALIZED (
    SELECT p.queue, sum(p.started)::bigint AS started, sum(p.wait_ms) / sum(p.started) AS wait_ms
      FROM ojs_period AS p
     WHERE p.span_s = 60
       AND p.at > date_trunc('minute', now()) - %(window_m)s::int * interval '1 minute'
     GROUP BY p.queue HAVING sum(p.started) >= %(min_jobs)s::bigint
), late AS MATERIALIZED (
    SELECT r.*, o.slo_s
      FROM recent AS r
     CROSS JOIN LATERAL (SELECT coalesce((%(overrides)s::jsonb -> r.queue ->> 'slo_s')::int,
                                         %(slo_s)s::int) AS slo_s) AS o
     WHERE r.wait_ms > o.slo_s * 1000.0
     ORDER BY r.started DESC LIMIT %(most)s::int
), minute AS MATERIALIZED (
    SELECT l.queue, m.at, sum(x.wait_ms) > sum(x.started) * l.slo_s * 1000.0 AS is_late
      FROM late AS l
     CROSS JOIN LATERAL (SELECT date_trunc('minute', now()) - n * interval '1 minute' AS at
                           FROM generate_series(0, 119) AS n) AS m
     CROSS JOIN LATERAL (SELECT p.started, p.wait_ms FROM ojs_period AS p
                          WHERE p.span_s = 60 AND p.at = m.at AND p.queue = l.queue OFFSET 0) AS x
     GROUP BY 1, 2, l.slo_s HAVING sum(x.started) > 0
)
SELECT l.queue, NULL::text,
       (SELECT min(m.at) FROM minute AS m
         WHERE m.queue = l.queue AND m.is_late
           AND m.at > coalesce((SELECT max(g.at) FROM minute AS g
                                 WHERE g.queue = l.queue AND NOT g.is_late), '-infinity')),
       coalesce((SELECT d.jobs FROM ojs_depth AS d WHERE d.queue = l.queue AND d.state = 3), 0),
       NULL::int,
       jsonb_build_object('wait_ms', round(l.wait_ms), 'slo_ms', l.slo_s * 1000,
                          'started', l.started)::text
  FROM late AS l ORDER BY 4 DESC
