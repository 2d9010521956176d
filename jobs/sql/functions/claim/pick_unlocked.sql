-- ojs_pick_unlocked: pick lanes from which the claim takes jobs without a lock of the lanes. There
-- are two cases: the queue has a single lane, or other claims hold all `candidates`. Only the
-- holders know the current virtual times, so the candidates share by weight.
--
-- It excludes three kinds of lanes:
-- - Lanes that another transaction has just blocked or retired.
-- - Lanes with limits: the claim writes a reached limit to the lane, which needs the lane's lock.
-- - Lanes that are charged by run time (`timed`), if there is one candidate or the claim is for one
--   tenant. A claim records no debt for a single lane. But the loop `charge` credits short jobs, so
--   the lane would gain credit without a charge (ADR 0012).
-- If no lane remains, the claim locks the first candidate. If it must not wait for that lock, it
-- takes no jobs from the queue and names the lane in `blocked_on`.
-- Locks: none, or the first lane, for which the claim waits. If `must_not_wait` is true, it does not
-- wait, because two claims could wait for each other.
CREATE OR REPLACE FUNCTION ojs_pick_unlocked(request ojs_request, claim ojs_claim_state)
RETURNS ojs_claim_state LANGUAGE plpgsql AS $$
BEGIN
    SELECT array_agg(ROW(l.id, l.tenant, false, l.vt, l.weight, ojs_lowest(l.low, l.returned),
                         NULL, NULL, NULL, NULL)::ojs_pick),
           array_agg(l.id), bool_or(ojs_lowest(l.low, l.returned) IS NULL)
      INTO claim.picks, claim.lanes, claim.has_returned
      FROM ojs_lane AS l
     WHERE l.id = ANY (claim.candidates) AND ojs_offered(l.active, l.blocked_by, l.paused)
       AND l.limits IS NULL
       AND (NOT l.timed OR request.tenant IS NULL AND cardinality(claim.candidates) > 1);
    IF claim.picks IS NOT NULL THEN
        claim.has_limited := false;
        claim.records_debts := claim.scope IS NULL
                      AND (cardinality(claim.candidates) > 1 OR claim.unlocked_lanes IS NOT NULL);
        claim.debt_picks := NULL;
        claim.planned_total := claim.quota;
        IF cardinality(claim.lanes) = 1 THEN
            claim.planned := ARRAY[claim.quota];
        ELSE
            claim.planned := ojs_share_by_weight(claim.picks, claim.quota, 0.999999 * random());
        END IF;
        RETURN claim;
    END IF;

    IF claim.must_not_wait THEN
        claim.blocked_on := -claim.candidates[1];
        claim.is_done := true;
        RETURN claim;
    END IF;
    SELECT array_agg(ROW(s.id, s.tenant, s.is_limited, s.vt, s.weight, s.low, s.lane_ctid,
                         NULL, NULL, NULL)::ojs_pick),
           array_agg(s.id), bool_or(s.is_limited), bool_or(s.low IS NULL)
      INTO claim.picks, claim.lanes, claim.has_limited, claim.has_returned
      FROM (SELECT l.id, l.tenant, l.limits IS NOT NULL AS is_limited, l.vt, l.weight,
                   ojs_lowest(l.low, l.returned) AS low, l.ctid AS lane_ctid
              FROM ojs_lane AS l
             WHERE l.id = claim.candidates[1] AND ojs_offered(l.active, l.blocked_by, l.paused)
               FOR NO KEY UPDATE) AS s;
    claim.charges_lanes := true;
    claim.must_not_wait := true;
    IF claim.picks IS NULL THEN
        claim.must_look_again := true;
        RETURN claim;
    END IF;
    RETURN ojs_plan_jobs(claim);
END $$
