-- ojs_after_look: decide where the claim looks next, and update the lanes of this look. p_got is
-- the number of jobs that the look handed out. The function retires empty lanes, clears the column
-- `returned` of lanes without returned jobs, and raises the virtual times of ordered lanes.
-- ojs_claim_jobs does not call it after the usual look: an unordered look that handed out all
-- planned jobs, from lanes without returned jobs (ADR 0025).
-- Locks: the locks of the functions that it calls; all of them are tried.
CREATE OR REPLACE FUNCTION ojs_after_look(request ojs_request, claim ojs_claim_state, p_got int)
RETURNS ojs_claim_state LANGUAGE plpgsql AS $$
DECLARE
    v_asked bigint[];  -- lanes from which the look planned jobs
BEGIN
    IF claim.is_ordered THEN
        claim.must_not_wait := ojs_advance_ordered(claim.lanes || claim.lagging_lanes, claim.now)
                               OR claim.must_not_wait;
    ELSE
        v_asked := ARRAY(SELECT u.lane FROM unnest(claim.lanes, claim.planned) AS u (lane, n)
                          WHERE u.n > 0);
    END IF;
    IF claim.has_returned THEN
        claim.must_not_wait := ojs_clear_returned(ARRAY(SELECT u.lane FROM unnest(claim.picks) AS u
                                                         WHERE u.low IS NULL))
                               OR claim.must_not_wait;
    END IF;
    IF p_got < claim.planned_total OR claim.is_ordered THEN
        -- Some lane may have no more jobs. An ordered look plans only jobs that it has found, so
        -- the number of jobs does not show it.
        claim.must_not_wait := ojs_retire_lanes(coalesce(v_asked, claim.empty_lanes))
                               OR claim.must_not_wait;
    END IF;

    IF claim.position = 0 THEN
        RETURN claim;
    ELSIF claim.is_hinted AND (p_got < claim.planned_total OR claim.is_ordered AND p_got = 0) THEN
        -- Jobs may lie below the low-water mark: look again without it.
        claim.is_hinted := false;
    ELSIF claim.is_ordered THEN
        -- If the look found no job and no empty lane, another look would find the same. Otherwise
        -- skip the lanes that gave no job: they are empty, or the claim must not take their jobs.
        claim.is_done := claim.candidates IS NULL AND cardinality(claim.empty_lanes) = 0;
        claim.exhausted := claim.exhausted || claim.empty_lanes
            || ARRAY(SELECT u.lane FROM unnest(claim.lanes, claim.planned) AS u (lane, n)
                      WHERE u.n = 0);
    ELSIF p_got = 0 AND claim.planned_total > 0 THEN
        -- All jobs of these lanes are expired or locked. Skip the lanes, so that the next look picks
        -- other lanes.
        claim.exhausted := claim.exhausted || v_asked;
    ELSIF p_got = 0 AND claim.reached IS NOT NULL THEN
        -- Limits allow no job of this look. Many more lanes at the head of the queue may have the
        -- limit that the claim reached last.
        PERFORM ojs_block_lanes_of_limit(claim);
    END IF;
    RETURN claim;
END $$
