-- ojs_pick_ordered: pick the lanes of the oldest jobs of a queue and rank: see ojs_in_order. It
-- locks only lanes with limits, because the claim writes a reached limit to the lane. A lane that
-- another transaction has just blocked, paused or retired gives no jobs, but the claim holds it.
-- Locks: the jobs (SKIP LOCKED); lanes with limits (SKIP LOCKED). A lane with limits that another
-- claim holds may have the oldest jobs. The claim waits for it while it may hold no lane and no
-- limit, and then looks again. Otherwise it skips the lane and names it in `blocked_on`.
CREATE OR REPLACE FUNCTION ojs_pick_ordered(request ojs_request, claim ojs_claim_state)
RETURNS ojs_claim_state LANGUAGE plpgsql AS $$
DECLARE
    v_counts int[];
    v_missed bigint[];
BEGIN
    SELECT o.lanes, o.takes, o.empty, o.behind INTO claim.candidates, v_counts, claim.empty, claim.behind
      FROM ojs_in_order(claim.queue, claim.rank, claim.vt,
                        CASE WHEN request.tenant IS NOT NULL THEN claim.candidates END,
                        claim.exhausted, request.version_keys, claim.quota, claim.is_hinted,
                        claim.now) AS o;
    SELECT array_agg(ROW(s.id, s.tenant, s.is_limited, s.vt, s.weight, s.low, s.place,
                         NULL, NULL, NULL)::ojs_pick),
           array_agg(s.id), array_agg(s.n), coalesce(sum(s.n), 0), bool_or(s.place IS NOT NULL),
           bool_or(s.low IS NULL)
      INTO claim.picks, claim.lanes, claim.planned, claim.planned_total, claim.has_limited,
           claim.has_returned
      FROM (SELECT l.id, l.tenant, false AS is_limited, l.vt, l.weight,
                   ojs_lowest(l.low, l.returned) AS low, NULL::tid AS place, u.n
              FROM unnest(claim.candidates, v_counts) AS u (lane, n)
              JOIN ojs_lane AS l ON l.id = u.lane
             WHERE l.limits IS NULL
             UNION ALL
            SELECT o.id, o.tenant, o.limits IS NOT NULL, o.vt, o.weight,
                   ojs_lowest(o.low, o.returned), o.place,
                   CASE WHEN ojs_offered(o.active, o.blocked_by, o.paused) THEN u.n ELSE 0 END
              FROM (SELECT l.*, l.ctid AS place FROM ojs_lane AS l
                     WHERE l.id = ANY (ARRAY(
                           SELECT m.id FROM ojs_lane AS m
                            WHERE m.id = ANY (claim.candidates) AND m.limits IS NOT NULL))
                       FOR NO KEY UPDATE SKIP LOCKED) AS o
              JOIN unnest(claim.candidates, v_counts) AS u (lane, n) ON u.lane = o.id) AS s;
    claim.is_holding := claim.is_holding OR claim.has_limited IS TRUE;
    claim.owes := false;
    claim.indebted := NULL;
    v_missed := ARRAY(SELECT u.id FROM unnest(claim.candidates) AS u (id)
                       WHERE claim.lanes IS NULL OR u.id <> ALL (claim.lanes)
                       ORDER BY u.id);
    IF cardinality(v_missed) = 0 THEN
        RETURN claim;
    END IF;
    IF NOT claim.is_holding THEN
        PERFORM 1 FROM ojs_lane AS l WHERE l.id = v_missed[1] FOR NO KEY UPDATE;
        claim.is_holding := true;
        claim.is_again := true;
        RETURN claim;
    END IF;
    claim.blocked_on := coalesce(claim.blocked_on, -v_missed[1]);
    claim.exhausted := claim.exhausted || v_missed;
    RETURN claim;
END $$
