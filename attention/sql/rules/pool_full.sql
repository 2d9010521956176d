-- pool_full: find pools that were lately at their limit of active jobs while jobs waited, and whose
-- queues had waiting jobs in each of the last `after_m` minutes. A limit that is reached for a short
-- time is usual. Pools of the settings have no stored queues, so their waiting jobs are unknown.
SELECT o.pool, NULL::text, s.since, coalesce(d.jobs, 0)::bigint, 0,
       jsonb_build_object('concurrency', p.concurrency)::text
  FROM ojs_pool_overload AS o
  LEFT JOIN ojs_pool AS p ON p.name = o.pool
 CROSS JOIN LATERAL (SELECT sum(x.jobs) AS jobs FROM ojs_pool_queue AS q
                       JOIN ojs_depth AS x ON x.queue = q.queue AND x.state = 3
                      WHERE q.pool_id = o.pool) AS d
 CROSS JOIN LATERAL (SELECT min(x.at) AS since, count(DISTINCT x.at) AS minutes
                       FROM ojs_pool_queue AS q
                       JOIN ojs_attention_sample AS x ON x.queue = q.queue AND x.jobs > 0
                      WHERE q.pool_id = o.pool AND x.at > date_trunc('minute', now())
                                                         - %(after_m)s::int * interval '1 minute') AS s
 WHERE o.told_at > now() - interval '30 seconds' AND coalesce(d.jobs, 1) > 0
   AND (s.minutes >= %(after_m)s::int OR d.jobs IS NULL)
 ORDER BY 4 DESC, o.pool LIMIT %(most)s::int
