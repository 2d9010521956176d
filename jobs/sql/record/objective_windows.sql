-- objective_windows: count the started and the late jobs of a queue in windows that end now, one row
-- for each of `windows` (seconds), in this order. Windows of at most `by_minute_s` are sums of
-- minutes, longer windows of hours; each includes the present minute or hour. Starts that were
-- counted for another time than `within_ms` are left out.
SELECT w.window_s, coalesce(sum(p.started), 0)::bigint, coalesce(sum(p.late), 0)::bigint
  FROM unnest(%(windows)s::int[]) WITH ORDINALITY AS w (window_s, place)
 CROSS JOIN LATERAL (
       SELECT CASE WHEN w.window_s <= %(by_minute_s)s::int THEN 60 ELSE 3600 END AS span_s) AS s
  LEFT JOIN ojs_objective_period AS p
    ON p.span_s = s.span_s AND p.queue = %(queue)s::text AND p.within_ms = %(within_ms)s::bigint
   AND p.at = ANY (ARRAY(
       SELECT date_bin(s.span_s * interval '1 second', now(), timestamptz 'epoch')
              - n * s.span_s * interval '1 second'
         FROM generate_series(0, w.window_s / s.span_s - 1) AS n))
 GROUP BY w.window_s, w.place ORDER BY w.place
