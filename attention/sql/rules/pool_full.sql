-- pool_full: find pools that were lately at their limit of active jobs while jobs waited.
SELECT o.pool, NULL::text, NULL::timestamptz, coalesce(d.jobs, 0)::bigint, 0,
       jsonb_build_object('concurrency', p.concurrency)::text
  FROM ojs_pool_overload AS o
  LEFT JOIN ojs_pool AS p ON p.name = o.pool
 CROSS JOIN LATERAL (SELECT sum(x.jobs) AS jobs FROM ojs_pool_queue AS q
                       JOIN ojs_depth AS x ON x.queue = q.queue AND x.state = 3
                      WHERE q.pool_id = o.pool) AS d
 WHERE o.told_at > now() - interval '30 seconds' AND coalesce(d.jobs, 1) > 0
 ORDER BY 4 DESC, o.pool LIMIT %(most)s::int
