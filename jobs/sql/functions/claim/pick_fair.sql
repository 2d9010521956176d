-- ojs_pick_fair: pick and lock the next lanes of the head's rank by their virtual times. It picks
-- only lanes whose virtual time lies in their window. The window of a lane begins at the head. Its
-- length is (`quota` + 1) / weight, and at most `quota` + 1. Without it, the claim would serve a
-- lane far ahead of its share, only because other claims hold the lanes before it.
--
-- If these lanes are fewer than the jobs, up to 32 more lanes share the jobs (`unlocked_lanes`).
-- Other claims hold these lanes, or they lie beyond their window. The number bounds the work of a
-- look; later looks find further lanes. If other claims hold all lanes, ojs_pick_unlocked picks
-- from `unlocked_lanes`.
--
-- In a scope there are no `unlocked_lanes`: only one claim of the scope runs at a time, so no other
-- claim holds its lanes.
-- Locks: the lanes (SKIP LOCKED). The claim may hold a lane even if it picks none: the SELECT also
-- locks a lane that another transaction has just changed, and then leaves it out.
CREATE OR REPLACE FUNCTION ojs_pick_fair(request ojs_request, claim ojs_claim_state)
RETURNS ojs_claim_state LANGUAGE plpgsql AS $$
DECLARE
    v_head bigint := claim.candidates[1];  -- start at the head: entries before it may be dead
BEGIN
    claim.must_not_wait := true;
    IF claim.scope IS NOT NULL THEN
        claim.vt := coalesce(ojs_settle(claim.scope, claim.queue, claim.rank, claim.vt, claim.quota,
                                        claim.exhausted, claim.closed, request.version_keys),
                             claim.vt);
        v_head := 0;  -- ojs_settle may have changed which lane is first
    END IF;
    SELECT array_agg(ROW(s.id, s.tenant, s.is_limited, s.vt, s.weight, s.low, s.lane_ctid,
                         NULL, NULL, NULL)::ojs_pick),
           array_agg(s.id), bool_or(s.is_limited), bool_or(s.low IS NULL), count(*) > 0
      INTO claim.picks, claim.lanes, claim.has_limited, claim.has_returned, claim.charges_lanes
      FROM (SELECT l.id, l.tenant, l.limits IS NOT NULL AS is_limited, l.vt, l.weight,
                   ojs_lowest(l.low, l.returned) AS low, l.ctid AS lane_ctid
              FROM ojs_lane AS l
             WHERE l.queue = claim.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
               AND l.rank = claim.rank AND (l.vt, l.id) >= (claim.vt, v_head)
               AND l.vt <= claim.vt + claim.quota + 1
               AND l.vt <= claim.vt + (claim.quota + 1) / l.weight
               AND ojs_eligible(l, claim.exhausted, claim.closed, request.version_keys)
             ORDER BY l.queue, l.rank, l.vt LIMIT claim.quota
               FOR NO KEY UPDATE SKIP LOCKED) AS s;
    IF coalesce(cardinality(claim.lanes), 0) < claim.quota AND NOT claim.is_single_lane
       AND claim.scope IS NULL
    THEN
        SELECT array_agg(c.id), max(c.vt) INTO claim.unlocked_lanes, claim.unlocked_vt
          FROM (SELECT l.id, l.vt FROM ojs_lane AS l
                 WHERE l.queue = claim.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
                   AND l.rank = claim.rank AND (l.vt, l.id) >= (claim.vt, v_head)
                   AND ojs_eligible(l, claim.exhausted, claim.closed, request.version_keys)
                   AND (claim.lanes IS NULL OR l.id <> ALL (claim.lanes))
                 ORDER BY l.queue, l.rank, l.vt LIMIT 32) AS c;
        IF claim.lanes IS NULL THEN
            claim.candidates := claim.unlocked_lanes;
            -- No candidate is left: other transactions have just blocked or retired all lanes.
            claim.must_look_again := claim.candidates IS NULL;
        END IF;
    END IF;
    IF claim.must_look_again THEN
        RETURN claim;
    ELSIF claim.lanes IS NULL THEN
        RETURN ojs_pick_unlocked(request, claim);
    END IF;
    RETURN ojs_plan_jobs(claim);
END $$
