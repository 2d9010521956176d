-- bury: mark workers as dead that sent a heartbeat before and then fell silent. Their leases stay
-- unchanged: orphans.sql finds the jobs, and fail.sql returns them as worker_death.
-- Locks: the workers, SKIP LOCKED.
WITH silent AS MATERIALIZED (
    SELECT w.id FROM ojs_worker AS w
     WHERE w.last_heartbeat_at < now() - %(silence_ms)s::bigint * interval '1 millisecond'
       AND w.dead_at IS NULL AND w.stopped_at IS NULL
     ORDER BY w.last_heartbeat_at LIMIT %(batch)s::int FOR UPDATE SKIP LOCKED
), buried AS (
    UPDATE ojs_worker AS w SET dead_at = now() FROM silent AS s WHERE w.id = s.id
    RETURNING w.id, w.started_at
), told AS (
    INSERT INTO ojs_event (at, kind, worker_id, data)
    SELECT now(), 32, id, jsonb_build_object('reason', 'error', 'uptime_ms',
               (extract(epoch FROM now() - started_at) * 1000)::bigint)
      FROM buried
)
SELECT b.id AS worker_id FROM buried AS b
