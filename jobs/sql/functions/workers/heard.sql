-- ojs_heard: note a sign of life of workers that have sent a heartbeat, if their last sign is older
-- than p_every_ms. A dead worker lives again; a stopped worker stays stopped. See
-- services/outcome/reap.py.
-- Locks: the workers (SKIP LOCKED), since the caller may hold leases, and a heartbeat locks leases
-- after its worker. A transaction that holds a worker's row notes a sign itself, or is the reaper.
-- The reaper then takes no lease that is younger than the silence.
CREATE OR REPLACE FUNCTION ojs_heard(p_workers text[], p_every_ms bigint) RETURNS int
LANGUAGE plpgsql STRICT AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    worker record;
    noted int := 0;
BEGIN
    FOR worker IN SELECT w.ctid AS place, w.id, w.queues, w.concurrency, w.dead_at FROM ojs_worker AS w
                   WHERE w.id = ANY (p_workers) AND w.stopped_at IS NULL
                     AND w.last_heartbeat_at < v_now - p_every_ms * interval '1 millisecond'
                     FOR NO KEY UPDATE SKIP LOCKED
    LOOP
        UPDATE ojs_worker AS w SET last_heartbeat_at = v_now, dead_at = NULL
         WHERE w.ctid = worker.place;
        IF worker.dead_at IS NOT NULL THEN
            INSERT INTO ojs_event (at, kind, worker_id, data)
            VALUES (v_now, 30, worker.id, jsonb_build_object(
                    'queues', worker.queues, 'concurrency', worker.concurrency));
        END IF;
        noted := noted + 1;
    END LOOP;
    RETURN noted;
END $$
