-- ojs_pick_lanes: find the head of the claim's queue; the first look uses the `heads` that
-- ojs_claim_queue found. Pick lanes of the head's rank with the first of these functions that
-- applies:
--   ojs_pick_unlocked  there is a single lane, and the claim may hold no lane and no limit.
--   ojs_pick_ordered   tenants are served in order: the oldest jobs first, of any tenant.
--   ojs_pick_tenant    the claim is for one tenant.
--   ojs_pick_fair      tenants share.
-- If other claims hold all lanes, the last two also call ojs_pick_unlocked.
--
-- p_level_rank: the rank by which the rotation decided the turn; null: priorities do not compete
-- over queues. `is_done`: the queue has nothing to give now. `is_again`: look again.
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
    claim.is_again := false;
    claim.is_moved := false;
    claim.is_locked := false;
    claim.unlocked_lanes := NULL;
    claim.counted := NULL;
    IF claim.is_hinted THEN
        v_from_rank := request.low_ranks[claim.position];
        v_from_vt := request.low_vts[claim.position];
    END IF;
    IF claim.heads IS NOT NULL THEN
        v_lanes := cardinality(claim.heads);
        claim.rank := claim.heads[1].rank;
        claim.vt := claim.heads[1].vt;
        claim.is_ordered := claim.heads[1].is_ordered;
        claim.candidates := CASE v_lanes WHEN 1 THEN ARRAY[claim.heads[1].lane]
                            ELSE ARRAY[claim.heads[1].lane, claim.heads[2].lane] END;
        claim.heads := NULL;
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
                 WHERE l.id = ANY (claim.own_lanes)
                   AND ojs_offered(l.active, l.blocked_by, l.paused)
                   -- `own_lanes` has only lanes of the version keys
                   AND ojs_eligible(l, claim.exhausted, claim.closed, NULL)
               ) AS z
         WHERE z.rank = z.head;
    END IF;
    IF v_lanes = 0 THEN
        claim.is_done := NOT claim.is_hinted;
        claim.is_again := claim.is_hinted;
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
            claim.is_again := true;
            claim.is_hinted := false;
            RETURN claim;
        END IF;
    END IF;

    claim.is_alone := v_lanes = 1;
    -- A single lane gives its jobs in the order of `seq` anyway, and ojs_pick_unlocked reads less.
    claim.is_ordered := claim.is_ordered AND (NOT claim.is_alone OR claim.is_holding);
    IF claim.rank > claim.busy_rank THEN
        claim.is_done := true;  -- jobs of a limit that another claim has locked may come first
    ELSIF claim.rank <> p_level_rank THEN
        claim.is_done := true;  -- the rotation decides the turn again
        claim.is_moved := true;
    ELSIF claim.is_ordered THEN
        RETURN ojs_pick_ordered(request, claim);
    ELSIF claim.is_alone AND NOT claim.is_holding THEN
        RETURN ojs_pick_unlocked(request, claim);
    ELSIF request.tenant IS NOT NULL THEN
        RETURN ojs_pick_tenant(request, claim);
    ELSE
        RETURN ojs_pick_fair(request, claim);
    END IF;
    RETURN claim;
END $$
