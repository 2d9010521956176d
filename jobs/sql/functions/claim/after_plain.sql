-- ojs_after_plain: retire or exhaust the lane of a plain queue that gave fewer jobs than the claim
-- needs. p_got is the number of jobs that it gave. The lane retires if it is empty. If it gave no
-- job and no low-water mark bounded the search, all its jobs are expired or locked. Then the rest
-- of the claim skips the lane.
-- Locks: the locks of ojs_retire_lanes; all of them are tried.
CREATE OR REPLACE FUNCTION ojs_after_plain(claim ojs_claim_state, p_got int) RETURNS ojs_claim_state
LANGUAGE plpgsql AS $$
BEGIN
    claim.must_not_wait := ojs_retire_lanes(ARRAY[claim.first_lanes[1].lane])
                           OR claim.must_not_wait;
    IF p_got = 0 AND NOT claim.is_hinted THEN
        claim.exhausted := claim.exhausted || claim.first_lanes[1].lane;
    END IF;
    RETURN claim;
END $$
