-- ojs_pick_lanes: find the head of the claim's queue; the first look uses the `first_lanes` that
-- ojs_claim_queue found. Pick lanes of the head's rank with the first of these functions that
-- applies:
--   ojs_pick_unlocked  there is a single lane, and `must_not_wait` is false.
--   ojs_pick_ordered   the queue is in order: the oldest jobs come first, of any tenant.
--   ojs_pick_tenant    the claim is for one tenant.
--   ojs_pick_fair      tenants share.
-- If other claims hold all lanes, the last two also call ojs_pick_unlocked.
--
-- p_level_rank: the rank by which the rotation decided the turn; null: priorities do not compete
-- over queues. `is_done`: the queue has nothing to give now. `must_look_again`: look again.
-- Locks: none of its own; see these functions.
CREATE OR REPLACE FUNCTION ojs_pick_lanes(
    request ojs_request, claim ojs_claim_state, p_level_rank smallint
) RETURNS ojs_claim_state LANGUAGE plpgsql AS $$
DECLARE
    v_from_rank smallint := -32768;
    v_from_vt float8 := '-Infinity'::float8;
    v_lanes int;
BEGIN
    claim.is_done := false;
    claim.must_look_again := false;
    claim.has_other_rank := false;
    claim.charges_lanes := false;
    claim.unlocked_lanes := NULL;
    claim.locked_jobs := NULL;
    IF claim.is_hinted THEN
        v_from_rank := request.low_ranks[claim.position];
        v_from_vt := request.low_vts[claim.position];
    END IF;
    IF claim.first_lanes IS NOT NULL THEN
        v_lanes := cardinality(claim.first_lanes);
        claim.rank := claim.first_lanes[1].rank;
        claim.vt := claim.first_lanes[1].vt;
        claim.is_ordered := claim.first_lanes[1].is_ordered;
        claim.candidates := CASE v_lanes WHEN 1 THEN ARRAY[claim.first_lanes[1].lane]
                            ELSE ARRAY[claim.first_lanes[1].lane, claim.first_lanes[2].lane] END;
        claim.first_lanes := NULL;
    ELSIF request.tenant IS NULL THEN
        SELECT count(*), (array_agg(z.rank))[1], (array_agg(z.vt))[1], array_agg(z.id),
               (array_agg(z.ordered))[1]
          INTO v_lanes, claim.rank, claim.vt, claim.candidates, claim.is_ordered
          FROM (SELECT l.id, l.rank, l.vt, l.ordered FROM ojs_lane AS l
                 WHERE l.queue = claim.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
                   AND (l.rank, l.vt) >= (v_from_rank, v_from_vt)
                   AND ojs_eligible(l, claim.exhausted, claim.closed, request.version_keys)
                 ORDER BY l.queue, l.rank, l.vt, l.id LIMIT 2) AS z;
    ELSE
        SELECT count(*), min(z.rank), min(z.vt), array_agg(z.id), bool_or(z.ordered)
          INTO v_lanes, claim.rank, claim.vt, claim.candidates, claim.is_ordered
          FROM (SELECT l.id, l.rank, l.vt, l.ordered, min(l.rank) OVER () AS head
                  FROM ojs_lane AS l
                 WHERE l.id = ANY (claim.tenant_lanes)
                   AND ojs_offered(l.active, l.blocked_by, l.paused)
                   -- `tenant_lanes` has only lanes of the version keys
                   AND ojs_eligible(l, claim.exhausted, claim.closed, NULL)
               ) AS z
         WHERE z.rank = z.head;
    END IF;
    IF v_lanes = 0 THEN
        claim.is_done := NOT claim.is_hinted;
        claim.must_look_again := claim.is_hinted;
        claim.is_hinted := false;
        RETURN claim;
    END IF;
    IF claim.is_ordered AND claim.is_hinted THEN
        -- The return of a job may have lowered the `vt` of its lane below the low-water mark.
        PERFORM 1 FROM ojs_lane AS l
          WHERE l.queue = claim.queue AND l.ordered AND l.returned IS NOT NULL
            AND ojs_offered(l.active, l.blocked_by, l.paused)
          ORDER BY l.queue LIMIT 1;
        IF FOUND THEN
            claim.must_look_again := true;
            claim.is_hinted := false;
            RETURN claim;
        END IF;
    END IF;

    claim.is_single_lane := v_lanes = 1;
    -- A single lane gives its jobs in the order of `seq` anyway, and ojs_pick_unlocked reads less.
    -- But only a claim that may wait calls it for a single lane at once: see below.
    claim.is_ordered := claim.is_ordered AND (NOT claim.is_single_lane OR claim.must_not_wait);
    IF claim.rank > claim.busy_rank THEN
        claim.is_done := true;  -- jobs of a limit that another claim has locked may come first
    ELSIF claim.rank <> p_level_rank THEN
        claim.is_done := true;  -- the rotation decides the turn again
        claim.has_other_rank := true;
    ELSIF claim.is_ordered THEN
        RETURN ojs_pick_ordered(request, claim);
    ELSIF claim.is_single_lane AND NOT claim.must_not_wait THEN
        RETURN ojs_pick_unlocked(request, claim);
    ELSIF request.tenant IS NOT NULL THEN
        RETURN ojs_pick_tenant(request, claim);
    ELSE
        RETURN ojs_pick_fair(request, claim);
    END IF;
    RETURN claim;
END $$
