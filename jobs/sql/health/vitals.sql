-- vitals: the health of the whole system. Queues, workers and loops are few; no table of jobs is read.
-- Workers count that heartbeated within ten times the silence after which a worker is dead. So a dead
-- worker shows as trouble for a while. The silence of a worker that only fetches cannot be detected.
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
       -- their reported start is later than their last sign of life: their clocks are ahead
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
