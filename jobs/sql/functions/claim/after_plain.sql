-- ojs_after_plain: store what the claim found when the lane of a plain queue gave fewer jobs than the
-- claim needs, p_got. The lane retires if it is empty. If it gave no job although no low-water mark
-- bounded the look, the rest of the claim skips it: its jobs are expired or locked.
-- Locks: the locks of ojs_retire_lanes; all of them are tried.
CREATE OR REPLACE FUNCTION ojs_after_plain(claim ojs_claim_state, p_got int) RETURNS ojs_claim_state
LANGUAGE plpgsql AS $$
BEGIN
    claim.is_holding := ojs_retire_lanes(ARRAY[claim.heads[1].lane]) OR claim.is_holding;
    IF p_got = 0 AND NOT claim.is_hinted THEN
        claim.exhausted := claim.exhausted || claim.heads[1].lane;
    END IF;
    RETURN claim;
END $$
