-- error_rate: find types whose attempts fail more often than in the same type's past.
-- The past is the median of its hours in the last week and of this hour before the window. Hours since
-- the start of an open finding are not part of it. Without a past, `new_percent` is the limit. A past of
-- less than three hours may be part of the same incident: it cannot raise the limit over `new_percent`.
-- `since` is the first minute after the last minute below half of the limit, within two hours.
WITH recent AS MATERIALIZED (
    SELECT p.type, sum(p.failed)::bigint AS failed, sum(p.failed + p.completed)::bigint AS ended,
           array_agg(DISTINCT p.queue) AS queues
      FROM ojs_period AS p
     WHERE p.span_s = 60
       AND p.at > date_trunc('minute', now()) - %(window_m)s::int * interval '1 minute'
     GROUP BY p.type
    HAVING sum(p.failed) >= %(min_failed)s::bigint
       AND sum(p.failed) * 100 >= %(min_percent)s::int * sum(p.failed + p.completed)
     ORDER BY 2 DESC LIMIT %(most)s::int
), known AS MATERIALIZED (
    SELECT r.*, f.since AS open_since, coalesce(f.since, now()) AS began
      FROM recent AS r
      LEFT JOIN ojs_attention_finding AS f
        ON f.rule = 'error_rate' AND f.subject = r.type AND f.ended_at IS NULL
), minute AS MATERIALIZED (
    SELECT k.type, m.at, sum(x.failed) AS failed, sum(x.failed + x.completed) AS ended
      FROM known AS k
     CROSS JOIN LATERAL unnest(k.queues) AS q (queue)
     CROSS JOIN LATERAL (SELECT date_trunc('minute', now()) - n * interval '1 minute' AS at
                           FROM generate_series(0, 119) AS n) AS m
     CROSS JOIN LATERAL (SELECT p.failed, p.completed FROM ojs_period AS p
                          WHERE p.span_s = 60 AND p.at = m.at AND p.queue = q.queue
                            AND p.type = k.type OFFSET 0) AS x
     GROUP BY 1, 2 HAVING sum(x.failed + x.completed) > 0
), past AS MATERIALIZED (
    SELECT h.type, percentile_cont(0.5) WITHIN GROUP (ORDER BY h.failed / h.ended) AS rate,
           count(*) < 3 AS is_short
      FROM (SELECT k.type, n.hour, sum(x.failed)::float8 AS failed,
                   sum(x.failed + x.completed)::float8 AS ended
              FROM known AS k
             CROSS JOIN LATERAL unnest(k.queues) AS q (queue)
             CROSS JOIN LATERAL (SELECT date_trunc('hour', now()) - i * interval '1 hour' AS hour
                                   FROM generate_series(1, 168) AS i) AS n
             CROSS JOIN LATERAL (SELECT p.failed, p.completed FROM ojs_period AS p
                                  WHERE p.span_s = 3600 AND p.at = n.hour AND p.queue = q.queue
                                    AND p.type = k.type OFFSET 0) AS x
             WHERE n.hour < date_trunc('hour', k.began)
             GROUP BY 1, 2
            UNION ALL
            SELECT m.type, NULL, sum(m.failed), sum(m.ended)
              FROM minute AS m JOIN known AS k USING (type)
             WHERE m.at >= date_trunc('hour', now())
               AND m.at <= now() - (%(window_m)s::int + 1) * interval '1 minute'
               AND m.at < date_trunc('minute', k.began)
             GROUP BY 1) AS h
     WHERE h.ended > 0 GROUP BY 1
), spike AS MATERIALIZED (
    SELECT k.type, k.failed, k.ended, k.queues, l.low,
           CASE WHEN l.low < l.usual THEN NULL ELSE p.rate END AS past
      FROM known AS k LEFT JOIN past AS p USING (type)
     CROSS JOIN LATERAL (SELECT greatest(%(min_percent)s::int / 100.0,
                                         %(factor)s::int * p.rate)::float8 AS usual,
                                %(new_percent)s::int / 100.0::float8 AS young) AS x
     CROSS JOIN LATERAL (SELECT x.usual, CASE WHEN p.rate IS NULL THEN x.young
                                              WHEN p.is_short THEN least(x.young, x.usual)
                                              ELSE x.usual END AS low) AS l
     WHERE k.failed >= l.low * k.ended
), latest AS MATERIALIZED (
    SELECT e.type, e.tenant, coalesce(e.data #>> '{error,type}', e.data #>> '{error,code}') AS error,
           left(e.data #>> '{error,message}', 200) AS message
      FROM ojs_event AS e WHERE e.kind = 5 AND EXISTS (SELECT FROM spike)
     ORDER BY e.stamp DESC, e.seq DESC LIMIT 1000
)
SELECT s.type, NULL::text, coalesce(b.since, now()), greatest(b.failed, s.failed)::bigint,
       greatest(1, (SELECT count(DISTINCT l.tenant) FROM latest AS l WHERE l.type = s.type))::int,
       jsonb_build_object(
           'failed', s.failed, 'ended', s.ended, 'queue', s.queues[1],
           'percent', round(100.0 * s.failed / s.ended), 'past_percent', round((100 * s.past)::numeric),
           'error', (SELECT mode() WITHIN GROUP (ORDER BY l.error) FROM latest AS l
                      WHERE l.type = s.type),
           'message', (SELECT mode() WITHIN GROUP (ORDER BY l.message) FROM latest AS l
                        WHERE l.type = s.type))::text
  FROM spike AS s
  LEFT JOIN LATERAL (
       SELECT min(m.at) AS since, sum(m.failed) AS failed FROM minute AS m
        WHERE m.type = s.type AND m.failed > 0
          AND m.at > coalesce((SELECT max(g.at) FROM minute AS g
                                WHERE g.type = s.type AND g.failed < s.low / 2 * g.ended),
                              '-infinity')) AS b ON true
 ORDER BY 4 DESC
