-- ojs_share_locked: say how many jobs each of the locked picks is to give, and each lane of `held`.
-- First the debts of the locked lanes are charged: what other claims took of them while they could not
-- lock them. Lanes that others hold may be served by them now. As if those were served as far as any,
-- they get what lies beyond.
-- Locks: the debts, of lanes that the claim holds.
CREATE OR REPLACE FUNCTION ojs_share_locked(claim ojs_claim_state) RETURNS ojs_claim_state
LANGUAGE plpgsql AS $$
DECLARE
    v_debt record;
    v_at int;
    v_level float8;
BEGIN
    claim.owes := claim.held IS NOT NULL;
    claim.indebted := NULL;
    IF NOT claim.is_alone THEN
        FOR v_debt IN DELETE FROM ojs_debt AS t WHERE t.lane_id = ANY (claim.lanes)
                      RETURNING t.lane_id, t.cost
        LOOP
            v_at := array_position(claim.lanes, v_debt.lane_id);
            claim.picks[v_at].vt := claim.picks[v_at].vt + v_debt.cost;
            claim.indebted := claim.indebted || v_at;
        END LOOP;
        IF claim.held IS NOT NULL THEN
            -- Each starts at a random offset; otherwise lanes of large weight always come first.
            SELECT greatest(claim.held_vt, max(x.vt)) INTO v_level FROM unnest(claim.picks) AS x;
            SELECT claim.picks || array_agg(ROW(l.id, l.tenant, false, v_level - random() / l.weight,
                                                l.weight, ojs_lowest(l.low, l.returned),
                                                NULL, NULL, NULL, NULL)::ojs_pick),
                   claim.lanes || array_agg(l.id),
                   claim.has_returned OR coalesce(
                       bool_or(ojs_lowest(l.low, l.returned) IS NULL), false)
              INTO claim.picks, claim.lanes, claim.has_returned
              FROM ojs_lane AS l
             WHERE l.id = ANY (claim.held) AND l.limits IS NULL
               AND ojs_offered(l.active, l.blocked_by, l.paused);
        END IF;
    END IF;
    claim.takes := CASE WHEN cardinality(claim.lanes) = 1 THEN ARRAY[claim.quota]
                        ELSE ojs_share(claim.picks, claim.quota) END;
    claim.wanted := claim.quota;
    RETURN claim;
END $$
