-- ojs_pick_fair: pick and lock the lanes that are next by their virtual times, of the head's rank. The
-- window keeps a claim from serving a lane far ahead of the head just because others hold the lanes
-- before it. Up to 32 more lanes, which others hold or which lie beyond the window, share what the
-- locked ones do not take: `held`. Where others hold all lanes, ojs_pick_unlocked picks of these.
-- Of a scope there is no other claim, and lanes may be far from the first one: none is `held`.
-- Locks: the lanes (SKIP LOCKED). Even if none comes back: a lane that has changed meanwhile stays
-- locked.
CREATE OR REPLACE FUNCTION ojs_pick_fair(request ojs_request, claim ojs_claim_state)
RETURNS ojs_claim_state LANGUAGE plpgsql AS $$
DECLARE
    v_head bigint := claim.near[1];  -- what lies before it in the index is dead
BEGIN
    claim.is_holding := true;
    IF claim.scope IS NOT NULL THEN
        claim.vt := coalesce(ojs_settle(claim.scope, claim.queue, claim.rank, claim.vt, claim.quota,
                                        claim.exhausted, claim.closed, request.version_keys),
                             claim.vt);
        v_head := 0;  -- another one may be first now
    END IF;
    SELECT array_agg(ROW(s.id, s.tenant, s.is_limited, s.vt, s.weight, s.low, s.place,
                         NULL, NULL, NULL)::ojs_pick),
           array_agg(s.id), bool_or(s.is_limited), bool_or(s.low IS NULL), count(*) > 0
      INTO claim.picks, claim.lanes, claim.has_limited, claim.has_returned, claim.is_locked
      FROM (SELECT l.id, l.tenant, l.limits IS NOT NULL AS is_limited, l.vt, l.weight,
                   ojs_lowest(l.low, l.returned) AS low, l.ctid AS place
              FROM ojs_lane AS l
             WHERE l.queue = claim.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
               AND l.rank = claim.rank AND (l.vt, l.id) >= (claim.vt, v_head)
               AND l.vt <= claim.vt + claim.quota + 1
               AND l.vt <= claim.vt + (claim.quota + 1) / l.weight
               AND ojs_eligible(l.id, l.limits, l.route, claim.exhausted, claim.closed,
                                request.version_keys)
             ORDER BY l.queue, l.rank, l.vt LIMIT claim.quota
               FOR NO KEY UPDATE SKIP LOCKED) AS s;
    IF coalesce(cardinality(claim.lanes), 0) < claim.quota AND NOT claim.is_alone
       AND claim.scope IS NULL
    THEN
        SELECT array_agg(c.id), max(c.vt) INTO claim.held, claim.held_vt
          FROM (SELECT l.id, l.vt FROM ojs_lane AS l
                 WHERE l.queue = claim.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
                   AND l.rank = claim.rank AND (l.vt, l.id) >= (claim.vt, v_head)
                   AND ojs_eligible(l.id, l.limits, l.route, claim.exhausted, claim.closed,
                                    request.version_keys)
                   AND (claim.lanes IS NULL OR l.id <> ALL (claim.lanes))
                 ORDER BY l.queue, l.rank, l.vt LIMIT 32) AS c;
        IF NOT claim.is_locked THEN
            claim.near := claim.held;
            claim.is_again := claim.near IS NULL;  -- another claim has just marked them all
        END IF;
    END IF;
    IF claim.is_again THEN
        RETURN claim;
    ELSIF NOT claim.is_locked THEN
        RETURN ojs_pick_unlocked(request, claim);
    END IF;
    RETURN ojs_share_locked(claim);
END $$
