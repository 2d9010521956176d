-- dead_letters: find types of which more jobs were discarded within an hour than in busy hours before.
-- The past is the 97th percentile of the type's hours in the last week, so it has the hour of a nightly
-- run. Hours without a discarded job count as zero. A type without a past is found only if `new_percent`
-- of its jobs were discarded. `since` is the first minute with at least a tenth of the highest minute.
WITH recent AS MATERIALIZED (
    SELECT p.type, sum(p.discarded)::bigint AS discarded,
           sum(p.discarded + p.completed)::bigint AS ended, array_agg(DISTINCT p.queue) AS queues
      FROM ojs_period AS p
     WHERE p.span_s = 60 AND p.at > date_trunc('minute', now()) - interval '1 hour'
     GROUP BY p.type HAVING sum(p.discarded) >= %(min_jobs)s::bigint
     ORDER BY 2 DESC LIMIT %(most)s::int
), known AS MATERIALIZED (
    SELECT r.*, least(f.since, now() - interval '1 hour') AS began
      FROM recent AS r
      LEFT JOIN ojs_attention_finding AS f
        ON f.rule = 'dead_letters' AND f.subject = r.type AND f.ended_at IS NULL
), past AS MATERIALIZED (
    SELECT h.type, percentile_cont(0.97) WITHIN GROUP (ORDER BY h.discarded) AS jobs,
           bool_or(h.is_known) AS is_known
      FROM (SELECT k.type, n.hour, coalesce(sum(x.discarded), 0)::float8 AS discarded,
                   count(x.discarded) > 0 AS is_known
              FROM known AS k
             CROSS JOIN LATERAL unnest(k.queues) AS q (queue)
             CROSS JOIN LATERAL (SELECT date_trunc('hour', now()) - i * interval '1 hour' AS hour
                                   FROM generate_series(1, 168) AS i) AS n
              LEFT JOIN LATERAL (SELECT p.discarded FROM ojs_period AS p
                                  WHERE p.span_s = 3600 AND p.at = n.hour AND p.queue = q.queue
                                    AND p.type = k.type OFFSET 0) AS x ON true
             WHERE n.hour < date_trunc('hour', k.began)
             GROUP BY 1, 2) AS h
     GROUP BY 1
), spike AS MATERIALIZED (
    SELECT k.type, k.discarded, k.queues, coalesce(p.jobs, 0) AS past
      FROM known AS k LEFT JOIN past AS p USING (type)
     WHERE k.discarded >= %(factor)s::int * coalesce(p.jobs, 0)
       AND (p.is_known OR k.discarded * 100 >= %(new_percent)s::int * k.ended)
), minute AS MATERIALIZED (
    SELECT s.type, m.at, sum(x.discarded) AS discarded
      FROM spike AS s
     CROSS JOIN LATERAL unnest(s.queues) AS q (queue)
     CROSS JOIN LATERAL (SELECT date_trunc('minute', now()) - n * interval '1 minute' AS at
                           FROM generate_series(0, 59) AS n) AS m
     CROSS JOIN LATERAL (SELECT p.discarded FROM ojs_period AS p
                          WHERE p.span_s = 60 AND p.at = m.at AND p.queue = q.queue
                            AND p.type = s.type OFFSET 0) AS x
     GROUP BY 1, 2
), latest AS MATERIALIZED (
    SELECT e.type, e.tenant, coalesce(e.data #>> '{error,type}', e.data #>> '{error,code}') AS error
      FROM ojs_event AS e WHERE e.kind = 5 AND EXISTS (SELECT FROM spike)
     ORDER BY e.stamp DESC, e.seq DESC LIMIT 1000
)
SELECT s.type, NULL::text,
       (SELECT min(m.at) FROM minute AS m
         WHERE m.type = s.type AND m.discarded > 0
           AND m.discarded * 10 >= (SELECT max(h.discarded) FROM minute AS h WHERE h.type = s.type)),
       s.discarded,
       greatest(1, (SELECT count(DISTINCT l.tenant) FROM latest AS l WHERE l.type = s.type))::int,
       jsonb_build_object(
           'discarded', s.discarded, 'past', round(s.past::numeric), 'queue', s.queues[1],
           'error', (SELECT mode() WITHIN GROUP (ORDER BY l.error) FROM latest AS l
                      WHERE l.type = s.type))::text
  FROM spike AS s ORDER BY 4 DESC
