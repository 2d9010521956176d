-- ojs_plan_jobs: decide how many jobs each pick gives after the claim has locked lanes. Adds the
-- `unlocked_lanes` to the picks.
--
-- It first adds the debts of the locked lanes to their virtual times: the jobs that other claims
-- took from a lane without its lock. A single lane keeps its debts, because its virtual time
-- decides nothing. Other claims may be serving the `unlocked_lanes`, so their stored virtual times
-- may be too small. The function therefore treats each of them as if it had the largest virtual
-- time of all lanes.
-- Locks: the debts of lanes that the claim holds.
CREATE OR REPLACE FUNCTION ojs_plan_jobs(claim ojs_claim_state) RETURNS ojs_claim_state
LANGUAGE plpgsql AS $$
DECLARE
    v_debt record;
    v_index int;
    v_served_up_to float8;
BEGIN
    claim.records_debts := claim.unlocked_lanes IS NOT NULL;
    claim.debt_picks := NULL;
    IF NOT claim.is_single_lane THEN
        FOR v_debt IN DELETE FROM ojs_debt AS t WHERE t.lane_id = ANY (claim.lanes)
                      RETURNING t.lane_id, t.cost
        LOOP
            v_index := array_position(claim.lanes, v_debt.lane_id);
            claim.picks[v_index].vt := claim.picks[v_index].vt + v_debt.cost;
            claim.debt_picks := claim.debt_picks || v_index;
        END LOOP;
        IF claim.unlocked_lanes IS NOT NULL THEN
            -- Start each lane at a random offset; otherwise lanes of large weight always go first.
            SELECT greatest(claim.unlocked_vt, max(x.vt)) INTO v_served_up_to
              FROM unnest(claim.picks) AS x;
            SELECT claim.picks || array_agg(ROW(l.id, l.tenant, false,
                                                v_served_up_to - random() / l.weight, l.weight,
                                                ojs_lowest(l.low, l.returned),
                                                NULL, NULL, NULL, NULL)::ojs_pick),
                   claim.lanes || array_agg(l.id),
                   claim.has_returned OR coalesce(
                       bool_or(ojs_lowest(l.low, l.returned) IS NULL), false)
              INTO claim.picks, claim.lanes, claim.has_returned
              FROM ojs_lane AS l
             WHERE l.id = ANY (claim.unlocked_lanes) AND l.limits IS NULL
               AND ojs_offered(l.active, l.blocked_by, l.paused);
        END IF;
    END IF;
    claim.planned := CASE WHEN cardinality(claim.lanes) = 1 THEN ARRAY[claim.quota]
                        ELSE ojs_share(claim.picks, claim.quota) END;
    claim.planned_total := claim.quota;
    RETURN claim;
END $$
