-- ojs_claim_jobs: hand out available jobs, in one round trip, each job once.
--
-- A claim is a row of steps. Each takes the request and what the claim has found out (ojs_claim_state),
-- and returns the latter changed; types.sql says what its members mean, make_request.sql those of the
-- request. The steps, and what each respects:
--   ojs_claim_worker   the configuration version; the worker's standing, pool, tenant and load
--   ojs_claim_pool     the pool's cap; one claim of a pool, rotation or scope at a time
--   ojs_rotation_*     which queue has the next turn
--   ojs_claim_queue    pauses and the limit of a queue; opens lanes whose limit has opened by itself
--   ojs_pick_lanes     strict priority inside a queue; the other ojs_pick_*: which lanes of that
--                      priority, and how many jobs of each
--   ojs_cap_limits     the limits of lanes: of tenants and of jobs' keys
--   ojs_charge_scopes  what tenants got in other queues
--   ojs_hand_out       expiry; hands the jobs out
--   ojs_after_look     retires empty lanes, and says where to look next
--
-- Locks, in this order: the worker, the pool or the rotation, scopes, what `blocked_on` names, the
-- limit of a queue, lanes, limits of lanes, ready rows, stripes of emptied lanes. Each step's file says
-- how it takes its own. Once a lane or a limit may be locked (`is_holding`) all other locks are tried,
-- so claims cannot deadlock.
--
-- Returns the claimed jobs, those of one queue in turn order. A last row with a null id may have
-- `signals`: directive (the worker must not fetch), stale (the configuration is another now), pool (of
-- the worker instead, '' for none), declared (what the worker has declared instead), foreign (the worker
-- is of another tenant than the caller), due (waiting jobs have become due: promote and call again),
-- opens_ms (in how many ms a limit that held jobs back opens by itself), over_limit (see on_limit in
-- domain/limits.py), turns (the position of each job's queue, in turn order), blocked_on.
--
-- The steps must stay VOLATILE: each statement then has a fresh snapshot, which a lock needs (ADR 0001).
-- They inherit the planner settings at the end, which are part of the design: the statistics of queue
-- tables are always wrong, and a generic plan does not know LIMIT. tests/jobs/sql holds the plans.
CREATE OR REPLACE FUNCTION ojs_claim_jobs(request ojs_request) RETURNS SETOF ojs_claimed
LANGUAGE plpgsql AS $$
DECLARE
    claim ojs_claim_state := ojs_claim_worker(request);
    rotation ojs_rotation;
    v_needed int;
    v_got int;
    v_signals ojs_claimed;
BEGIN
    IF claim.signals IS NOT NULL THEN
        v_signals.signals := claim.signals;
        RETURN NEXT v_signals;
        RETURN;
    END IF;
    IF claim.need > 0 AND (request.pool_cap IS NOT NULL OR request.rotation IS NOT NULL
                           OR request.scopes IS NOT NULL OR request.blocked_on IS NOT NULL)
    THEN
        claim := ojs_claim_pool(request, claim);
        IF claim.need > 0 AND request.rotation IS NOT NULL AND cardinality(request.queues) > 1 THEN
            rotation := ojs_rotation_begin(request, claim);
        END IF;
    END IF;

    -- One round where the queues come in their order. In a rotation: decide all turns, take what they
    -- ask for, and decide anew with what turned out to be missing, until both agree: as if each turn
    -- had been decided when the one before it was taken.
    LOOP
        IF rotation.is_on THEN
            rotation := ojs_rotation_decide(request, claim.need, rotation);
            EXIT WHEN rotation.is_agreed;
        END IF;
        -- Number 0 is all queues at once that have a single lane without limits: they take one
        -- statement together instead of several each. The others, and what was missing, follow.
        FOR i IN coalesce(rotation.first, 1) .. cardinality(request.queues) LOOP
            EXIT WHEN claim.need <= 0;
            CONTINUE WHEN rotation.wants[i] <= rotation.taken[i];
            v_needed := claim.need;
            IF i > 0 THEN
                claim := ojs_claim_queue(request, claim, i, rotation.wants[i] - rotation.taken[i]);
            ELSE
                claim.quota := claim.need;
            END IF;
            -- Every pass takes jobs, or finds a lane or a limit that the next ones pass by.
            FOR pass IN 1 .. 1000 LOOP
                EXIT WHEN claim.quota <= 0;
                IF i = 0 THEN
                    claim := ojs_pick_single_lanes(request, claim, rotation);
                ELSE
                    claim := ojs_pick_lanes(request, claim,
                                            rotation.level_ranks[rotation.levels[i]]);
                END IF;
                EXIT WHEN claim.is_done;
                CONTINUE WHEN claim.is_again;
                IF claim.has_limited THEN
                    claim := ojs_cap_limits(claim);
                END IF;
                IF request.scopes IS NOT NULL THEN
                    claim := ojs_charge_scopes(request, claim);
                END IF;
                v_got := 0;
                IF claim.wanted > 0 OR cardinality(claim.indebted) > 0 THEN
                    RETURN QUERY SELECT * FROM ojs_hand_out(request, claim);
                    GET DIAGNOSTICS v_got = ROW_COUNT;
                END IF;
                claim.need := claim.need - v_got;
                claim.quota := claim.quota - v_got;
                IF v_got = 0 OR v_got < claim.wanted OR claim.is_ordered OR claim.has_returned THEN
                    claim := ojs_after_look(request, claim, v_got);
                END IF;
                EXIT WHEN i = 0 OR claim.is_done;
            END LOOP;
            IF rotation.is_on THEN
                rotation := ojs_rotation_note(rotation, claim, v_needed);
            END IF;
        END LOOP;
        EXIT WHEN rotation.is_on IS NOT TRUE
               OR claim.need <= 0 AND rotation.wants = rotation.taken;
    END LOOP;

    IF rotation.is_kept AND cardinality(rotation.turns) > 0 THEN
        PERFORM ojs_turn_keep(rotation.turn, rotation.turns, rotation.is_open,
                              CASE WHEN request.strategy = 2 THEN request.weights END,
                              request.tenant IS NOT NULL OR request.leaves_out_versions, claim.now);
    END IF;
    IF claim.need > 0 OR cardinality(rotation.turns) > 1 THEN
        v_signals.signals := ojs_claim_signals(request, claim, rotation.turns);
        IF v_signals.signals IS NOT NULL THEN
            RETURN NEXT v_signals;
        END IF;
    END IF;
END $$
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_mergejoin = off
SET enable_hashjoin = off
SET jit = off
