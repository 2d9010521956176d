-- ojs_pick_tenant: pick and lock the lanes of the request's tenant that have the head's rank. If
-- other claims hold all of them, ojs_pick_unlocked picks.
-- Locks: the lanes (SKIP LOCKED). The claim may hold a lane even if it picks none: the SELECT also
-- locks a lane that another transaction has just changed, and then leaves it out.
CREATE OR REPLACE FUNCTION ojs_pick_tenant(request ojs_request, claim ojs_claim_state)
RETURNS ojs_claim_state LANGUAGE plpgsql AS $$
BEGIN
    claim.must_not_wait := true;
    SELECT array_agg(ROW(s.id, s.tenant, s.is_limited, s.vt, s.weight, s.low, s.lane_ctid,
                         NULL, NULL, NULL)::ojs_pick),
           array_agg(s.id), bool_or(s.is_limited), bool_or(s.low IS NULL), count(*) > 0
      INTO claim.picks, claim.lanes, claim.has_limited, claim.has_returned, claim.charges_lanes
      FROM (SELECT l.id, l.tenant, l.limits IS NOT NULL AS is_limited, l.vt, l.weight,
                   ojs_lowest(l.low, l.returned) AS low, l.ctid AS lane_ctid
              FROM ojs_lane AS l
             WHERE l.id = ANY (claim.candidates) AND ojs_offered(l.active, l.blocked_by, l.paused)
             ORDER BY l.vt LIMIT claim.quota FOR NO KEY UPDATE SKIP LOCKED) AS s;
    IF claim.lanes IS NULL THEN
        RETURN ojs_pick_unlocked(request, claim);
    END IF;
    RETURN ojs_plan_jobs(claim);
END $$
