-- vitals: is the whole system well. Queues, workers and loops are few; no table of jobs is read.
-- Workers are those that heartbeated within ten times the silence after which one counts as dead: a
-- dead one is a sign of trouble for a while, and one that only fetches is never known to be silent.
WITH heard AS (
    SELECT id, started_at > last_heartbeat_at + %(skew_ms)s::bigint * interval '1 millisecond' AS ahead,
           dead_at IS NULL
           AND last_heartbeat_at > now() - %(silence_ms)s::bigint * interval '1 millisecond' AS alive
      FROM ojs_worker
     WHERE stopped_at IS NULL
       AND last_heartbeat_at > now() - 10 * %(silence_ms)s::bigint * interval '1 millisecond'
)
SELECT (SELECT count(*) FROM ojs_queue) AS queues,
       (SELECT count(*) FROM ojs_queue WHERE paused_at IS NOT NULL) AS paused,
       (SELECT count(*) FROM heard) AS workers,
       (SELECT count(*) FILTER (WHERE alive) FROM heard) AS alive,
       -- they said that they started later than they were heard of last: by clocks that are ahead
       ARRAY(SELECT h.id FROM heard AS h WHERE h.ahead ORDER BY h.id LIMIT 10) AS ahead,
       (SELECT m.started_at FROM ojs_maintenance AS m
         WHERE m.ends_at IS NULL OR m.ends_at > now() LIMIT 1) AS maintained_at,
       (SELECT m.reason FROM ojs_maintenance AS m
         WHERE m.ends_at IS NULL OR m.ends_at > now() LIMIT 1) AS maintenance,
       ARRAY(SELECT l.name FROM ojs_loop AS l
              WHERE l.ticked_at <= now() - %(stale_ms)s::bigint * interval '1 millisecond'
              ORDER BY l.ticked_at, l.name) AS standing,
       (SELECT count(*) FROM ojs_loop) AS loops,
       (SELECT min(ticked_at) FROM ojs_loop) AS ticked_at,
       coalesce((SELECT min(ticked_at) > now() - %(stale_ms)s::bigint * interval '1 millisecond'
                   FROM ojs_loop), false) AS is_ticking,
       current_setting('transaction_read_only') = 'on' AS is_read_only  -- a standby, or fenced off
