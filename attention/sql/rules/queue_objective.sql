-- queue_objective: find queues that use up their error budget too fast. The fast burn rate is judged
-- over an hour and five minutes, the slow burn rate over six hours and half an hour: the long window
-- shows that it matters, the short window that it lasts. `fast_percent` and `slow_percent` are the
-- percent of the budget of 30 days that the long window may use. Only queues that burn in a short
-- window read their long windows.
WITH objective AS MATERIALIZED (
    SELECT q.name, (q.config -> 'objective' ->> 'start_within_ms')::bigint AS within_ms,
           (q.config -> 'objective' ->> 'percent')::float8 AS percent
      FROM ojs_queue AS q WHERE q.config ? 'objective'
), bound AS MATERIALIZED (
    SELECT o.*, 1 - o.percent / 100 AS budget,
           %(fast_percent)s::float8 / 100 * 720 AS fast, %(slow_percent)s::float8 / 100 * 120 AS slow
      FROM objective AS o
), minute AS MATERIALIZED (
    SELECT date_trunc('minute', now()) AS at
), recent AS MATERIALIZED (
    SELECT p.queue, p.within_ms, sum(p.started) AS started, sum(p.late) AS late,
           sum(p.started) FILTER (WHERE p.at > m.at - interval '5 minutes') AS started_5m,
           sum(p.late) FILTER (WHERE p.at > m.at - interval '5 minutes') AS late_5m
      FROM minute AS m JOIN ojs_objective_period AS p
        ON p.span_s = 60 AND p.at > m.at - interval '30 minutes'
     GROUP BY 1, 2
), burning AS MATERIALIZED (
    SELECT b.*, r.late_5m > b.fast * b.budget * r.started_5m AS is_fast,
           r.late > b.slow * b.budget * r.started AS is_slow
      FROM bound AS b JOIN recent AS r ON r.queue = b.name AND r.within_ms = b.within_ms
     WHERE r.late_5m > b.fast * b.budget * r.started_5m OR r.late > b.slow * b.budget * r.started
), judged AS MATERIALIZED (
    SELECT b.*, x.*, b.is_fast AND x.late_1h >= %(min_late)s::bigint
                 AND x.late_1h > b.fast * b.budget * x.started_1h AS burns_fast,
           b.is_slow AND x.late_6h >= %(min_late)s::bigint
                 AND x.late_6h > b.slow * b.budget * x.started_6h AS burns_slow
      FROM burning AS b CROSS JOIN minute AS m
     CROSS JOIN LATERAL (
           SELECT sum(p.started) AS started_6h, sum(p.late) AS late_6h,
                  sum(p.started) FILTER (WHERE p.at > m.at - interval '1 hour') AS started_1h,
                  sum(p.late) FILTER (WHERE p.at > m.at - interval '1 hour') AS late_1h
             FROM ojs_objective_period AS p
            WHERE p.span_s = 60 AND p.queue = b.name AND p.within_ms = b.within_ms
              AND p.at = ANY (ARRAY(SELECT m.at - n * interval '1 minute'
                                      FROM generate_series(0, 359) AS n))) AS x
)
SELECT j.name, NULL::text, NULL::timestamptz,
       coalesce((SELECT d.jobs FROM ojs_depth AS d WHERE d.queue = j.name AND d.state = 3), 0),
       NULL::int,
       jsonb_build_object('is_fast', coalesce(j.burns_fast, false), 'percent', j.percent,
           'within_ms', j.within_ms,
           'started', CASE WHEN j.burns_fast THEN j.started_1h ELSE j.started_6h END,
           'late', CASE WHEN j.burns_fast THEN j.late_1h ELSE j.late_6h END,
           'burn_rate', round((CASE WHEN j.burns_fast THEN j.late_1h / j.started_1h
                                    ELSE j.late_6h / j.started_6h END / j.budget)::numeric, 1))::text
  FROM judged AS j WHERE j.burns_fast OR j.burns_slow
 ORDER BY j.burns_fast DESC NULLS LAST, 4 DESC LIMIT %(most)s::int
