-- ojs_claim_locks: take the locks that a claim must have before it looks at a queue, and bound the
-- claim by the pool's cap.
-- Locks, waited for, in this order:
-- 1. The lock of the pool (exclusive), for its cap.
-- 2. The lock of the rotation (exclusive). The rotation of a pool has the pool's lock.
-- 3. The scopes (exclusive, in order).
-- 4. The lock that may have hidden jobs from the previous claim (`blocked_on`): a limit (exclusive)
--    or a lane.
-- A claim that holds the fourth lock only tries further locks.
CREATE OR REPLACE FUNCTION ojs_claim_locks(request ojs_request, claim ojs_claim_state)
RETURNS ojs_claim_state LANGUAGE plpgsql AS $$
BEGIN
    -- Count under the lock, not before it: otherwise two claims may both see room.
    IF request.pool_cap IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(20266601, hashtext(request.pool));
        SELECT least(claim.need, request.pool_cap - count(*)) INTO claim.need
          FROM ojs_lease AS x WHERE x.pool = request.pool;
        IF claim.need <= 0 THEN
            RETURN claim;
        END IF;
    END IF;
    -- Round-robin (1) and weighted (2) turns depend on earlier claims, and so does starvation
    -- prevention.
    IF request.rotation IS NOT NULL AND cardinality(request.queues) > 1
       AND (request.strategy IN (1, 2) OR request.ratio IS NOT NULL)
    THEN
        PERFORM pg_advisory_xact_lock(20266601, hashtext(request.rotation));
    END IF;
    IF request.scopes IS NOT NULL THEN
        -- Only one claim at a time may read the tenants' costs and add to them.
        PERFORM pg_advisory_xact_lock(20266621, s.key)
           FROM (SELECT DISTINCT hashtext(x) AS key FROM unnest(request.scopes) AS x
                  WHERE x IS NOT NULL ORDER BY 1) AS s;
    END IF;
    IF request.blocked_on > 0 THEN
        PERFORM pg_advisory_xact_lock(20266602, (request.blocked_on % 2147483648)::int);
        claim.must_not_wait := true;
    ELSIF request.blocked_on IS NOT NULL THEN
        PERFORM 1 FROM ojs_lane AS l WHERE l.id = -request.blocked_on FOR NO KEY UPDATE;
        claim.must_not_wait := true;
    END IF;
    claim.now := clock_timestamp();
    RETURN claim;
END $$
