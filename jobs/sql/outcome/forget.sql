-- forget: remove at most `batch` workers that were silent for `silence_ms` and hold no job. A
-- worker that only fetches never heartbeats: its start counts, and its next FETCH stores it again.
-- It stays while a directive must hold for it.
-- Locks: the workers, SKIP LOCKED.
WITH silent AS MATERIALIZED (
    SELECT w.id FROM ojs_worker AS w
     WHERE coalesce(w.last_heartbeat_at, w.started_at)
               < now() - %(silence_ms)s::bigint * interval '1 millisecond'
       AND (w.last_heartbeat_at IS NOT NULL OR w.directive = 0)
       AND NOT EXISTS (SELECT 1 FROM ojs_lease AS l WHERE l.worker_id = w.id)
     LIMIT %(batch)s::int FOR UPDATE SKIP LOCKED
)
DELETE FROM ojs_worker AS w USING silent AS s WHERE w.id = s.id
RETURNING w.id
