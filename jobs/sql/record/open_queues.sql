-- open_queues: which queues have a job that a claim by some worker would hand out now, and their last
-- start as of the last aggregation. A hundred lanes of each are read. Lanes of a namespace belong to
-- `tenant:queue`, which has no last start here. A deleted queue has none.
SELECT x.queue,
       coalesce(u.name IS NOT NULL AND u.paused_at IS NULL
           AND NOT EXISTS (SELECT 1 FROM ojs_maintenance AS m WHERE ojs_in_force(m.ends_at))
           AND (u.limit_id IS NULL
                OR coalesce((SELECT o.room FROM ojs_limit AS m
                              CROSS JOIN LATERAL ojs_usage(m, now()) AS o
                              WHERE m.id = u.limit_id), 1) > 0)
           AND (SELECT true
                  FROM (SELECT * FROM (
                            SELECT l.id, l.low FROM ojs_lane AS l
                             WHERE l.queue = x.queue
                               AND ojs_offered(l.active, l.blocked_by, l.paused)
                             ORDER BY l.queue, l.rank, l.vt LIMIT 100) AS offered
                        UNION ALL
                        SELECT * FROM (
                            SELECT l.id, l.low FROM ojs_lane AS l
                             WHERE l.queue = x.queue AND l.blocked_until <= now() AND NOT l.paused
                             ORDER BY l.queue, l.blocked_until LIMIT 100) AS opened) AS l
                 CROSS JOIN LATERAL (
                       -- The bound skips removed rows, which the index holds under an old snapshot.
                       SELECT 1 FROM ojs_ready AS z
                        WHERE z.lane_id = l.id AND z.seq >= l.low - 128
                          AND ojs_fresh(z.expires_at, now())
                        ORDER BY z.lane_id, z.seq LIMIT 1) AS z
                 LIMIT 1), false) AS is_open,
       (SELECT max(d.last_at) FROM ojs_dispatch AS d WHERE d.queue = x.queue) AS last_at,
       now() AS now
  FROM unnest(%(queues)s::text[]) AS x (queue)
  LEFT JOIN ojs_queue AS u ON u.name = ojs_queue_of(x.queue)
