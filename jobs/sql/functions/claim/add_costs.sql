-- ojs_add_costs: add the jobs that the claim is about to hand out to the costs of their tenants
-- in the scopes of the queues (ADR 0018). The added costs must equal the jobs handed out. So the
-- function first locks and counts the jobs (`locked_jobs`). At position 0, ojs_pick_single_lanes
-- has already locked them.
-- Locks: the jobs (SKIP LOCKED); the claim holds the locks of the scopes.
CREATE OR REPLACE FUNCTION ojs_add_costs(request ojs_request, claim ojs_claim_state)
RETURNS ojs_claim_state LANGUAGE plpgsql AS $$
DECLARE
    v_scopes text[];
    v_ranks smallint[];
    v_tenants text[];
    v_weights float8[];
BEGIN
    IF claim.planned_total = 0 OR claim.position > 0 AND claim.scope IS NULL THEN
        RETURN claim;
    END IF;
    SELECT array_agg(CASE claim.position WHEN 0 THEN request.scopes[x.position] ELSE claim.scope END
                     ORDER BY x.ordinality),
           array_agg(coalesce(x.rank, claim.rank) ORDER BY x.ordinality),
           array_agg(x.tenant ORDER BY x.ordinality), array_agg(x.weight ORDER BY x.ordinality)
      INTO v_scopes, v_ranks, v_tenants, v_weights
      FROM unnest(claim.picks) WITH ORDINALITY AS x;
    IF claim.position > 0 THEN
        SELECT array_agg(h.jobs ORDER BY u.ordinality) INTO claim.locked_jobs
          FROM unnest(claim.picks) WITH ORDINALITY AS u
         CROSS JOIN LATERAL (
               SELECT count(*)::int AS jobs
                 FROM (SELECT 1 FROM ojs_ready AS z
                        WHERE z.lane_id = u.lane
                          AND z.seq >= CASE WHEN NOT claim.is_hinted OR u.low IS NULL THEN 0
                                       ELSE greatest(u.low, request.low_seqs[array_position(
                                            request.low_lanes, u.lane)]) - 128 END
                          AND ojs_claimable(z, claim.now)
                        ORDER BY z.lane_id, z.seq LIMIT claim.planned[u.ordinality]
                          FOR UPDATE SKIP LOCKED) AS locked) AS h;
    END IF;
    PERFORM ojs_spend(v_scopes, v_ranks, v_tenants, coalesce(claim.locked_jobs, claim.planned),
                      v_weights);
    -- The claim now holds rows of ojs_served, so it must not wait for another claim.
    claim.must_not_wait := true;
    RETURN claim;
END $$
