-- queue_starved: find starving queues: the loop `watch` has noted the episode, and it goes on.
-- The name of a namespaced queue begins with its tenant.
SELECT w.queue, CASE WHEN w.queue LIKE '%%:%%' THEN rtrim(left(w.queue, -length(n.queue)), ':') END,
       greatest(w.since, s.last_at), coalesce(d.jobs, 1), NULL::int,
       jsonb_build_object('queue', n.queue, 'last_at', s.last_at,
                          'pools', (SELECT jsonb_agg(p.pool_id ORDER BY p.pool_id)
                                      FROM ojs_pool_queue AS p WHERE p.queue = n.queue))::text
  FROM ojs_queue_watch AS w
 CROSS JOIN LATERAL (SELECT ojs_queue_of(w.queue) AS queue) AS n
 CROSS JOIN LATERAL (SELECT max(x.last_at) AS last_at FROM ojs_dispatch AS x
                      WHERE x.queue = w.queue) AS s
  LEFT JOIN ojs_depth AS d ON d.queue = n.queue AND d.state = 3
 WHERE w.told_at IS NOT NULL AND (s.last_at IS NULL OR w.told_at >= s.last_at)
   AND (d.jobs IS NULL OR d.jobs > 0)
 ORDER BY 3 LIMIT %(most)s::int
