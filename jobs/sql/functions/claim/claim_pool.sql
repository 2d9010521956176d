-- ojs_claim_pool: take the locks that a claim waits for, and bound it by the pool's cap.
-- Locks, waited for, in this order: the pool's (exclusive), for its cap; the rotation's (exclusive),
-- which may be the same one; scopes (exclusive, in order); the lock that hid jobs from the claim before
-- this one (`blocked_on`: a limit, exclusive, or a lane). All other locks are tried from then on.
CREATE OR REPLACE FUNCTION ojs_claim_pool(request ojs_request, claim ojs_claim_state)
RETURNS ojs_claim_state LANGUAGE plpgsql AS $$
BEGIN
    -- Counted under the lock, not before it: two fetches may both see room.
    IF request.pool_cap IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(20266601, hashtext(request.pool));
        SELECT least(claim.need, request.pool_cap - count(*)) INTO claim.need
          FROM ojs_lease AS x WHERE x.pool = request.pool;
        IF claim.need <= 0 THEN
            RETURN claim;
        END IF;
    END IF;
    -- Strict turns without prevention depend on no earlier claim, and least-loaded ones neither.
    IF request.rotation IS NOT NULL AND cardinality(request.queues) > 1
       AND (request.strategy IN (1, 2) OR request.ratio IS NOT NULL)
    THEN
        PERFORM pg_advisory_xact_lock(20266601, hashtext(request.rotation));
    END IF;
    IF request.scopes IS NOT NULL THEN
        -- What tenants got is read and added to by one claim at a time.
        PERFORM pg_advisory_xact_lock(20266621, s.key)
           FROM (SELECT DISTINCT hashtext(x) AS key FROM unnest(request.scopes) AS x
                  WHERE x IS NOT NULL ORDER BY 1) AS s;
    END IF;
    IF request.blocked_on > 0 THEN
        PERFORM pg_advisory_xact_lock(20266602, (request.blocked_on % 2147483648)::int);
        claim.is_holding := true;
    ELSIF request.blocked_on IS NOT NULL THEN
        PERFORM 1 FROM ojs_lane AS l WHERE l.id = -request.blocked_on FOR NO KEY UPDATE;
        claim.is_holding := true;
    END IF;
    claim.now := clock_timestamp();
    RETURN claim;
END $$
