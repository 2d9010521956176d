-- vitals: is the whole system well. Queues, workers and loops are few; no table of jobs is read.
SELECT (SELECT count(*) FROM ojs_queue) AS queues,
       (SELECT count(*) FROM ojs_queue WHERE paused_at IS NOT NULL) AS paused,
       (SELECT count(*) FROM ojs_worker WHERE stopped_at IS NULL) AS workers,
       (SELECT count(*) FROM ojs_worker
         WHERE stopped_at IS NULL AND dead_at IS NULL
           AND last_heartbeat_at > now() - %(silence_ms)s::bigint * interval '1 millisecond') AS alive,
       (SELECT min(ticked_at) FROM ojs_loop) AS ticked_at,
       coalesce((SELECT min(ticked_at) > now() - %(stale_ms)s::bigint * interval '1 millisecond'
                   FROM ojs_loop), false) AS is_ticking
