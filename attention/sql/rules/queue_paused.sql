-- queue_paused: find paused queues with available jobs. The first audit entry since the pause names the
-- operator and the reason.
SELECT q.name, NULL::text, q.paused_at, d.jobs, NULL::int,
       jsonb_build_object('actor', a.actor, 'reason', a.reason)::text
  FROM ojs_queue AS q
  JOIN ojs_depth AS d ON d.queue = q.name AND d.state = 3
  LEFT JOIN LATERAL (SELECT x.actor, x.reason FROM ojs_audit AS x
                      WHERE x.target = q.name AND x.action IN ('queue.paused', 'queue.pause')
                      ORDER BY x.id DESC LIMIT 1) AS a ON true
 WHERE q.paused_at < now() - %(after_s)s::int * interval '1 second' AND d.jobs >= %(min_jobs)s::bigint
 ORDER BY d.jobs DESC, q.name LIMIT %(most)s::int
