-- ojs_claim_signals: return the signals of a claim, an object with some of these members; null: no
-- signals.
--   due         true: waiting jobs have become due. The caller promotes them and claims again.
--   opens_ms    in how many ms a limit that held jobs back opens by itself.
--   over_limit  lanes over a limit, as objects {lane, jobs, limit, on_limit}. The caller drops or
--               reschedules the next jobs of each lane, by `on_limit`.
--   turns       the position of each job's queue, in turn order.
--   blocked_on  the lock that may have hidden jobs: see ojs_claim_state.
-- ojs_claim_worker ends a claim with one of these:
--   directive   the worker's directive, if it forbids a FETCH: 1 quiet, 2 terminate.
--   stale       true: the configuration version of the request is out of date.
--   foreign     true: the worker belongs to another tenant than the caller.
--   pool        the worker's pool ('' for none), if the request named another.
--   declared    the hash of the worker's declaration (0 for none), if the request named another.
--
-- p_turns: the position of the queue of each job, in turn order; null: there is no rotation.
-- Locks: none.
CREATE OR REPLACE FUNCTION ojs_claim_signals(request ojs_request, claim ojs_claim_state, p_turns int[])
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_queue text;
    v_is_due boolean;
    v_opens_ms bigint;
BEGIN
    IF p_turns[1] = ALL (p_turns) THEN
        p_turns := NULL;  -- the jobs of one queue are already in order
    END IF;
    IF claim.need <= 0 THEN
        RETURN CASE WHEN p_turns IS NOT NULL THEN jsonb_build_object('turns', p_turns) END;
    END IF;
    v_is_due := EXISTS (SELECT 1 FROM ojs_later AS x WHERE x.due_at <= claim.now);
    FOREACH v_queue IN ARRAY coalesce(claim.stored_queues, request.queues) LOOP
        claim.opens_at := least(claim.opens_at, (
            SELECT l.blocked_until FROM ojs_lane AS l
             WHERE l.queue = v_queue AND l.blocked_until IS NOT NULL
             ORDER BY l.queue, l.blocked_until LIMIT 1));
    END LOOP;
    -- Without this condition, greatest() would ignore the null and return 0.
    IF claim.opens_at IS NOT NULL THEN
        v_opens_ms := ceil(extract(epoch FROM greatest(claim.opens_at - clock_timestamp(), '0')) * 1000);
    END IF;
    IF NOT v_is_due AND p_turns IS NULL AND v_opens_ms IS NULL AND claim.over_limit IS NULL
       AND claim.blocked_on IS NULL
    THEN
        RETURN NULL;
    END IF;
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'due', v_is_due, 'opens_ms', v_opens_ms, 'over_limit', claim.over_limit, 'turns', p_turns,
        'blocked_on', claim.blocked_on));
END $$
