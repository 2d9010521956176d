-- ojs_pick_ordered: pick the lanes of the oldest jobs of a queue and rank: see ojs_in_order. It
-- locks only lanes with limits, because the claim writes a reached limit to the lane. A lane that
-- another transaction has just blocked, paused or retired gives no jobs, but the claim holds it.
-- Locks: the jobs (SKIP LOCKED); lanes with limits (SKIP LOCKED). A lane with limits that another
-- claim holds may have the oldest jobs. The claim waits for the lane and then looks again. If
-- `must_not_wait` is true, it skips the lane instead and names it in `blocked_on`.
CREATE OR REPLACE FUNCTION ojs_pick_ordered(request ojs_request, claim ojs_claim_state)
RETURNS ojs_claim_state LANGUAGE plpgsql AS $$
DECLARE
    v_counts int[];
    v_missed bigint[];
BEGIN
    SELECT o.lanes, o.takes, o.empty, o.behind
      INTO claim.candidates, v_counts, claim.empty_lanes, claim.lagging_lanes
      FROM ojs_in_order(claim.queue, claim.rank, claim.vt,
                        CASE WHEN request.tenant IS NOT NULL THEN claim.candidates END,
                        claim.exhausted, request.version_keys, claim.quota, claim.is_hinted,
                        claim.now) AS o;
    SELECT array_agg(ROW(s.id, s.tenant, s.is_limited, s.vt, s.weight, s.low, s.lane_ctid,
                         NULL, NULL, NULL)::ojs_pick),
           array_agg(s.id), array_agg(s.n), coalesce(sum(s.n), 0), bool_or(s.lane_ctid IS NOT NULL),
           bool_or(s.low IS NULL)
      INTO claim.picks, claim.lanes, claim.planned, claim.planned_total, claim.has_limited,
           claim.has_returned
      FROM (SELECT l.id, l.tenant, false AS is_limited, l.vt, l.weight,
                   ojs_lowest(l.low, l.returned) AS low, NULL::tid AS lane_ctid, u.n
              FROM unnest(claim.candidates, v_counts) AS u (lane, n)
              JOIN ojs_lane AS l ON l.id = u.lane
             WHERE l.limits IS NULL
             UNION ALL
            SELECT o.id, o.tenant, o.limits IS NOT NULL, o.vt, o.weight,
                   ojs_lowest(o.low, o.returned), o.lane_ctid,
                   CASE WHEN ojs_offered(o.active, o.blocked_by, o.paused) THEN u.n ELSE 0 END
              FROM (SELECT l.*, l.ctid AS lane_ctid FROM ojs_lane AS l
                     WHERE l.id = ANY (ARRAY(
                           SELECT m.id FROM ojs_lane AS m
                            WHERE m.id = ANY (claim.candidates) AND m.limits IS NOT NULL))
                       FOR NO KEY UPDATE SKIP LOCKED) AS o
              JOIN unnest(claim.candidates, v_counts) AS u (lane, n) ON u.lane = o.id) AS s;
    claim.must_not_wait := claim.must_not_wait OR claim.has_limited IS TRUE;
    claim.records_debts := false;
    claim.debt_picks := NULL;
    v_missed := ARRAY(SELECT u.id FROM unnest(claim.candidates) AS u (id)
                       WHERE claim.lanes IS NULL OR u.id <> ALL (claim.lanes)
                       ORDER BY u.id);
    IF cardinality(v_missed) = 0 THEN
        RETURN claim;
    END IF;
    IF NOT claim.must_not_wait THEN
        PERFORM 1 FROM ojs_lane AS l WHERE l.id = v_missed[1] FOR NO KEY UPDATE;
        claim.must_not_wait := true;
        claim.must_look_again := true;
        RETURN claim;
    END IF;
    claim.blocked_on := coalesce(claim.blocked_on, -v_missed[1]);
    claim.exhausted := claim.exhausted || v_missed;
    RETURN claim;
END $$
