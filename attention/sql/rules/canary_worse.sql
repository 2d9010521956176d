-- canary_worse: find types whose newest version fails more often than the next lower version, beyond
-- chance: the difference is at least three standard errors. Reads the outcomes of the window.
WITH rules AS MATERIALIZED (
    SELECT r.type, r.revision, r.step, greatest(r.judged_from, r.step_at) AS judged_from
      FROM ojs_version_routing AS r WHERE r.rolled_back_at IS NULL
), seen AS MATERIALIZED (
    SELECT k.type, coalesce(k.to_major, k.major) AS major, coalesce(k.to_minor, k.minor) AS minor,
           sum(o.failed)::float8 AS failed, sum(o.failed + o.acked)::float8 AS ended,
           min(o.at) FILTER (WHERE o.failed > 0) AS first_failed_at
      FROM ojs_version_outcome AS o
      JOIN ojs_version_route AS k ON k.id = o.route
      JOIN rules AS r ON r.type = k.type
     WHERE o.at > now() - %(window_m)s::int * interval '1 minute'
       AND coalesce(k.to_major, k.major) IS NOT NULL
     GROUP BY 1, 2, 3
), ranked AS MATERIALIZED (
    SELECT s.*, row_number() OVER (PARTITION BY s.type ORDER BY s.major DESC, s.minor DESC) AS place
      FROM seen AS s
), pair AS MATERIALIZED (
    SELECT c.type, c.major || '.' || c.minor AS canary, s.major || '.' || s.minor AS control,
           c.failed, c.ended, c.first_failed_at, s.failed AS control_failed, s.ended AS control_ended,
           c.failed / c.ended AS rate, s.failed / s.ended AS control_rate,
           (c.failed + s.failed) / (c.ended + s.ended) AS both_rate
      FROM ranked AS c JOIN ranked AS s ON s.type = c.type AND s.place = 2
     WHERE c.place = 1 AND c.ended >= %(min_attempts)s::int AND s.ended >= %(min_attempts)s::int
)
SELECT p.type, NULL::text, p.first_failed_at, p.failed::bigint, NULL::int,
       jsonb_build_object('canary', p.canary, 'control', p.control, 'revision', r.revision,
           'percent', round((100 * p.rate)::numeric, 1),
           'control_percent', round((100 * p.control_rate)::numeric, 1),
           'ended', p.ended, 'control_ended', p.control_ended)::text
  FROM pair AS p JOIN rules AS r USING (type)
 WHERE p.rate - p.control_rate >= %(points)s::int / 100.0
   AND p.rate - p.control_rate
       >= 3 * sqrt(p.both_rate * (1 - p.both_rate) * (1 / p.ended + 1 / p.control_ended))
 ORDER BY p.failed DESC, p.type LIMIT %(most)s::int
