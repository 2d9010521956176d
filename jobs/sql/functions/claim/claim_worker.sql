-- ojs_claim_worker: begin a claim: check the configuration version and the worker.
--
-- Sets `signals` if the claim must end here (see ojs_claim_signals). Otherwise it sets `need`, the
-- number of jobs that the claim may hand out. The active jobs of the worker reduce it if the claim
-- checks the worker's concurrency. The claim is a sign of life of its worker: see ojs_heard.
-- Locks: the row of the worker. The claim waits for it to change the pool or to count the active
-- jobs, and while another transaction inserts the same worker. If the row is locked, the claim
-- stores no sign of life.
CREATE OR REPLACE FUNCTION ojs_claim_worker(request ojs_request) RETURNS ojs_claim_state
LANGUAGE plpgsql AS $$
DECLARE
    claim ojs_claim_state;
    v_directive smallint;
    v_pool text;
    v_tenant text;
    v_heard_at timestamptz;
    v_declared bigint;
    v_slots int;
    v_made int;
BEGIN
    claim.now := clock_timestamp();
    claim.need := request.jobs;
    claim.exhausted := '{}'::bigint[];
    claim.must_not_wait := false;
    IF request.configuration IS NOT NULL THEN
        PERFORM 1 FROM ojs_terms AS t WHERE t.id = 1 AND t.version = request.configuration;
        IF NOT FOUND THEN
            claim.signals := jsonb_build_object('stale', true);
            RETURN claim;
        END IF;
    END IF;
    IF request.worker IS NULL THEN
        RETURN claim;
    END IF;

    SELECT greatest(w.directive, w.reported), w.pool, w.declared,
           -- A worker that prefetches counts its jobs itself. But the definition of the strategy
           -- least-loaded (3) requires this check.
           CASE WHEN request.strategy = 3 OR request.prefetches IS NOT TRUE
                THEN nullif(w.concurrency, 0) END,
           w.tenant, w.last_heartbeat_at
      INTO v_directive, v_pool, v_declared, v_slots, v_tenant, v_heard_at
      FROM ojs_worker AS w WHERE w.id = request.worker;
    IF NOT FOUND THEN
        INSERT INTO ojs_worker (id, tenant, pool)
        VALUES (request.worker, request.caller,
                CASE WHEN request.names_pool THEN request.worker_pool END)
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS v_made = ROW_COUNT;
        IF v_made = 0 THEN
            SELECT w.pool, w.tenant INTO v_pool, v_tenant
              FROM ojs_worker AS w WHERE w.id = request.worker;
        ELSIF request.names_pool THEN
            v_pool := request.worker_pool;
        END IF;
    END IF;
    -- Check this before the other facts: the caller must learn nothing else about the worker.
    IF v_tenant <> request.caller THEN
        claim.signals := jsonb_build_object('foreign', true);
        RETURN claim;
    END IF;
    IF v_heard_at < claim.now - request.heard_ms * interval '1 millisecond' THEN
        PERFORM ojs_heard(ARRAY[request.worker], request.heard_ms);
    END IF;
    IF v_directive > 0 THEN
        claim.signals := jsonb_build_object('directive', v_directive);
        RETURN claim;
    END IF;
    IF v_pool IS DISTINCT FROM request.worker_pool AND request.names_pool
       AND request.worker_pool IS NOT NULL
    THEN
        -- A worker may join a pool only if it is in none, or after it has died or stopped.
        UPDATE ojs_worker AS w SET pool = request.worker_pool
         WHERE w.id = request.worker
           AND (w.pool IS NULL OR w.dead_at IS NOT NULL OR w.stopped_at IS NOT NULL)
        RETURNING w.pool INTO v_pool;
        IF NOT FOUND THEN
            SELECT w.pool INTO v_pool FROM ojs_worker AS w WHERE w.id = request.worker;
        END IF;
    END IF;
    IF v_pool IS DISTINCT FROM request.worker_pool THEN
        claim.signals := jsonb_build_object('pool', coalesce(v_pool, ''));
    ELSIF request.declared <> coalesce(v_declared, 0) THEN
        claim.signals := jsonb_build_object('declared', coalesce(v_declared, 0));
    ELSIF v_slots IS NOT NULL THEN
        PERFORM 1 FROM ojs_worker AS w WHERE w.id = request.worker FOR NO KEY UPDATE;
        SELECT least(claim.need, v_slots - count(*)) INTO claim.need
          FROM ojs_lease AS x WHERE x.worker_id = request.worker;
    END IF;
    RETURN claim;
END $$
