-- next_death: in how many milliseconds a worker may be marked dead, a job of a dead worker returned, or
-- a worker forgotten; null: never. Silence ends the first two, see bury.sql and orphans.sql, and
-- `forgotten_ms` the last, see forget.sql.
SELECT (extract(epoch FROM least(
           (SELECT min(w.last_heartbeat_at) FROM ojs_worker AS w
             WHERE w.dead_at IS NULL AND w.stopped_at IS NULL)
               + %(silence_ms)s::bigint * interval '1 millisecond',
           (SELECT min(l.started_at)
              FROM ojs_worker AS w
             CROSS JOIN LATERAL (
                   SELECT min(x.started_at) AS started_at FROM ojs_lease AS x
                    WHERE x.worker_id = w.id OFFSET 0) AS l
             WHERE w.dead_at > now() - interval '1 day')
               + %(silence_ms)s::bigint * interval '1 millisecond',
           (SELECT min(coalesce(w.last_heartbeat_at, w.started_at)) FROM ojs_worker AS w
             WHERE w.last_heartbeat_at IS NOT NULL OR w.directive = 0)
               + %(forgotten_ms)s::bigint * interval '1 millisecond')
           - clock_timestamp()) * 1000)::bigint
