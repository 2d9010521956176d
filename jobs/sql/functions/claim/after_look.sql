-- ojs_after_look: after p_got of the wanted jobs came: note what the look has found out, retire lanes
-- that ran empty, and say how the next look goes on. Not called where a look in no order got all it
-- wanted.
-- Locks: those of the functions that it calls; all of them are tried.
CREATE OR REPLACE FUNCTION ojs_after_look(request ojs_request, claim ojs_claim_state, p_got int)
RETURNS ojs_claim_state LANGUAGE plpgsql AS $$
DECLARE
    v_asked bigint[];  -- lanes that were to give jobs
BEGIN
    IF claim.is_ordered THEN
        claim.is_holding := ojs_advance_ordered(claim.lanes || claim.behind, claim.now)
                            OR claim.is_holding;
    ELSE
        v_asked := ARRAY(SELECT u.lane FROM unnest(claim.lanes, claim.takes) AS u (lane, n)
                          WHERE u.n > 0);
    END IF;
    IF claim.has_returned THEN
        claim.is_holding := ojs_clear_returned(ARRAY(SELECT u.lane FROM unnest(claim.picks) AS u
                                                      WHERE u.low IS NULL)) OR claim.is_holding;
    END IF;
    IF p_got < claim.wanted OR claim.is_ordered THEN
        -- Some lane had fewer jobs than asked for.
        claim.is_holding := ojs_retire_lanes(coalesce(v_asked, claim.empty)) OR claim.is_holding;
    END IF;

    IF claim.position = 0 THEN
        RETURN claim;
    ELSIF claim.is_hinted AND (p_got < claim.wanted OR claim.is_ordered AND p_got = 0) THEN
        claim.is_hinted := false;  -- jobs may lie below the low-water mark: look again without it
    ELSIF claim.is_ordered THEN
        -- others may have them all
        claim.is_done := claim.near IS NULL AND cardinality(claim.empty) = 0;
        claim.exhausted := claim.exhausted || claim.empty
            || ARRAY(SELECT u.lane FROM unnest(claim.lanes, claim.takes) AS u (lane, n)
                      WHERE u.n = 0);
    ELSIF p_got = 0 AND claim.wanted > 0 THEN
        -- Look behind them. What they hold is over or locked, so it holds back no other lane.
        claim.exhausted := claim.exhausted || v_asked;
    ELSIF p_got = 0 AND claim.reached IS NOT NULL THEN
        PERFORM ojs_mark_neighbours(claim);
    END IF;
    RETURN claim;
END $$
