-- ojs_claim_jobs: hand out available jobs in one round trip, each job once.
--
-- A claim is a sequence of steps. The first makes the state of the claim (ojs_claim_state). The next
-- steps take it, most also the request, and return it changed. The steps of the rotation pass on
-- ojs_rotation instead. ojs_hand_out, ojs_hand_out_plain and ojs_claim_signals return parts of the
-- answer. types.sql describes the members of the state, make_request.sql the members of the request.
-- docs/architecture.md shows where a new rule belongs. The steps and the rules that they apply:
--   ojs_claim_worker   the configuration version; the worker's directive, pool, tenant and load.
--   ojs_claim_locks    the pool's cap; one claim of a pool, rotation or scope at a time.
--   ojs_rotation_*     which queue has the next turn.
--   ojs_claim_queue    pauses and the limit of a queue; opens lanes whose limit has opened by
--                      itself. It finds out whether the queue is plain (ADR 0028). A plain queue
--                      runs ojs_hand_out_plain and ojs_after_plain, any other queue the steps from
--                      ojs_pick_lanes to ojs_after_look.
--   ojs_pick_lanes     finds the highest priority in a queue; the other ojs_pick_* choose lanes of
--                      that priority, and the number of jobs of each.
--   ojs_cap_limits     the limits of lanes: of tenants, of job types and of jobs' keys.
--   ojs_add_costs      adds the jobs to the costs of their tenants in a scope. Claims of the other
--                      queues of the scope order their lanes by these costs (see ojs_settle).
--   ojs_hand_out       expiry; hands the jobs out.
--   ojs_after_look     retires empty lanes, and decides where to look next.
--   ojs_turn_keep      stores the turns, from which the next claim continues.
--   ojs_claim_signals  makes the signals of the answer.
--
-- Locks: a claim waits only for these, in this order: the worker; the pool; the rotation; scopes;
-- then one limit or one lane. Once it may hold a limit or a lane (`must_not_wait`), it only tries
-- further locks, so their order does not matter and claims cannot deadlock. The file of each step
-- states its locks.
--
-- Returns the claimed jobs, look by look, in the order of ojs_hand_out. With a rotation, the
-- process puts them in turn order. A last row with a null id may have `signals`: see
-- ojs_claim_signals.
--
-- The steps must stay VOLATILE: each statement then has a fresh snapshot, which a lock needs (ADR
-- 0001). The steps inherit the planner settings at the end, which are part of the design: the
-- statistics of queue tables are always wrong, and a generic plan ignores the value of LIMIT.
-- tests/jobs/sql checks the plans.
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
        claim := ojs_claim_locks(request, claim);
        IF claim.need > 0 AND request.rotation IS NOT NULL AND cardinality(request.queues) > 1 THEN
            rotation := ojs_rotation_begin(request, claim);
        END IF;
    END IF;

    -- Without a rotation there is one round through the queues, in the order of the request. With a
    -- rotation, each round decides all turns and takes the jobs that they ask for. If a queue has
    -- fewer jobs, the next round decides again, until each queue has given the jobs that its turns
    -- ask for. The result is the same as if the claim decided one turn after the other.
    LOOP
        IF rotation.is_on THEN
            rotation := ojs_rotation_decide(request, claim.need, rotation);
            EXIT WHEN rotation.is_final;
        END IF;
        -- Position 0 stands for all queues that have a single lane without limits. One statement
        -- takes their jobs together, instead of several statements for each queue. The loop then
        -- takes the jobs that are still missing, queue by queue.
        FOR i IN coalesce(rotation.first_position, 1) .. cardinality(request.queues) LOOP
            EXIT WHEN claim.need <= 0;
            CONTINUE WHEN rotation.wants[i] <= rotation.taken[i];
            v_needed := claim.need;
            IF i > 0 THEN
                claim := ojs_claim_queue(request, claim, i, rotation.wants[i] - rotation.taken[i]);
                WHILE claim.is_plain_queue LOOP
                    RETURN QUERY SELECT * FROM ojs_hand_out_plain(request, claim);
                    GET DIAGNOSTICS v_got = ROW_COUNT;
                    claim.need := claim.need - v_got;
                    claim.quota := claim.need;
                    EXIT WHEN claim.quota <= 0;
                    claim := ojs_after_plain(claim, v_got);
                    request.low_ranks[i] := NULL;  -- jobs may lie below the low-water mark
                    claim := ojs_claim_queue(request, claim, i, NULL);
                END LOOP;
            ELSE
                claim.quota := claim.need;
            END IF;
            -- Every look hands out jobs, finds a lane or a limit that later looks skip, drops the
            -- low-water marks or locks a lane. The bound ends a loop of looks that do none of this.
            FOR look IN 1 .. 1000 LOOP
                EXIT WHEN claim.quota <= 0;
                IF i = 0 THEN
                    claim := ojs_pick_single_lanes(request, claim, rotation);
                ELSE
                    claim := ojs_pick_lanes(request, claim,
                                            rotation.level_ranks[rotation.levels[i]]);
                END IF;
                EXIT WHEN claim.is_done;
                CONTINUE WHEN claim.must_look_again;
                IF claim.has_limited THEN
                    claim := ojs_cap_limits(claim);
                END IF;
                IF request.scopes IS NOT NULL THEN
                    claim := ojs_add_costs(request, claim);
                END IF;
                v_got := 0;
                -- ojs_hand_out also stores the debts that this look has added to virtual times.
                IF claim.planned_total > 0 OR cardinality(claim.debt_picks) > 0 THEN
                    RETURN QUERY SELECT * FROM ojs_hand_out(request, claim);
                    GET DIAGNOSTICS v_got = ROW_COUNT;
                END IF;
                claim.need := claim.need - v_got;
                claim.quota := claim.quota - v_got;
                IF v_got = 0 OR v_got < claim.planned_total OR claim.is_ordered
                   OR claim.has_returned
                THEN
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

    IF rotation.is_kept AND cardinality(rotation.turn_order) > 0 THEN
        PERFORM ojs_turn_keep(rotation.stored, rotation.turn_order, rotation.is_open,
                              CASE WHEN request.strategy = 2 THEN request.weights END,
                              request.tenant IS NOT NULL OR request.leaves_out_versions, claim.now);
    END IF;
    IF claim.need > 0 OR cardinality(rotation.turn_order) > 1 THEN
        v_signals.signals := ojs_claim_signals(request, claim, rotation.turn_order);
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
