-- ojs_claim_queue: set the members of the state for the queue at p_position, and open lanes.
--
-- `quota` is the number of jobs that the queue may give, at most p_most (null: as many as the claim
-- needs). It is 0 if the queue is unknown or paused, or if its limit is reached or locked by another
-- claim. The function opens at most a hundred lanes whose limit has opened by itself. It then finds
-- the first two eligible lanes of the queue (`first_lanes`), unless the claim is for one tenant. If
-- no lane is eligible and no low-water mark bounded the search, `quota` is 0, too.
--
-- `is_plain_queue`: ojs_hand_out_plain serves the queue, because the steps from ojs_pick_lanes to
-- ojs_add_costs would change nothing (ADR 0028). The queue has no limit and a single eligible lane,
-- which is plain. The claim has no rotation, tenant or scopes, and `must_not_wait` is false.
-- Locks: the queue's limit (exclusive). The claim waits for it unless `must_not_wait` is true;
-- then it only tries it. Then the lanes that open (SKIP LOCKED).
CREATE OR REPLACE FUNCTION ojs_claim_queue(
    request ojs_request, claim ojs_claim_state, p_position int, p_most int
) RETURNS ojs_claim_state LANGUAGE plpgsql AS $$
DECLARE
    v_is_paused boolean;
    v_limit bigint;
    v_room int;
    v_until timestamptz;
    v_opens boolean;
    v_lane record;
    v_from_rank smallint := -32768;
    v_from_vt float8 := '-Infinity'::float8;
BEGIN
    claim.is_plain_queue := false;
    claim.first_lanes := NULL;
    claim.position := p_position;
    claim.queue := request.queues[p_position];
    claim.stored_queue := claim.queue;
    claim.scope := request.scopes[p_position];
    claim.quota := least(claim.need, p_most);
    claim.queue_limits := NULL;
    claim.closed := claim.reached;
    claim.busy_rank := NULL;
    claim.has_other_rank := false;
    claim.is_hinted := request.low_ranks[p_position] IS NOT NULL;
    SELECT u.paused_at IS NOT NULL, u.limit_id INTO v_is_paused, v_limit
      FROM ojs_queue AS u WHERE u.name = claim.queue;
    IF NOT FOUND OR v_is_paused THEN
        claim.quota := 0;
        RETURN claim;
    END IF;
    IF v_limit IS NOT NULL THEN
        IF NOT claim.must_not_wait THEN
            PERFORM pg_advisory_xact_lock(20266602, (v_limit % 2147483648)::int);
            claim.must_not_wait := true;
        ELSIF NOT pg_try_advisory_xact_lock(20266602, (v_limit % 2147483648)::int) THEN
            claim.blocked_on := v_limit;
            claim.quota := 0;
            RETURN claim;
        END IF;
        claim.now := clock_timestamp();
        SELECT o.room, o.opens_at INTO v_room, v_until FROM ojs_room(v_limit, claim.now) AS o;
        claim.quota := least(claim.quota, v_room);
        IF claim.quota <= 0 THEN
            claim.opens_at := least(claim.opens_at, v_until);
            RETURN claim;
        END IF;
        claim.queue_limits := ARRAY[v_limit];
    END IF;

    IF request.tenant IS NOT NULL THEN
        -- Read the lanes by their keys: in the index of offered lanes, thousands of other lanes may
        -- precede them.
        SELECT array_agg(l.id) INTO claim.tenant_lanes FROM ojs_lane_key AS l
         WHERE l.tenant = request.tenant AND l.queue = claim.queue
           AND (request.version_keys IS NULL OR l.route = ANY (request.version_keys));
        claim.stored_queue := coalesce(
            (SELECT l.queue FROM ojs_lane AS l WHERE l.id = claim.tenant_lanes[1]), claim.queue);
        claim.stored_queues := coalesce(claim.stored_queues, request.queues);
        claim.stored_queues[p_position] := claim.stored_queue;
    END IF;
    SELECT true INTO v_opens FROM ojs_lane AS l
     WHERE l.queue = claim.stored_queue AND l.blocked_until <= claim.now
     ORDER BY l.queue, l.blocked_until LIMIT 1;
    IF v_opens THEN
        FOR v_lane IN SELECT l.ctid AS lane_ctid, l.blocked_until AS until FROM ojs_lane AS l
                       WHERE l.id = ANY (ARRAY(
                             SELECT m.id FROM ojs_lane AS m
                              WHERE m.queue = claim.stored_queue AND m.blocked_until <= claim.now
                              ORDER BY m.queue, m.blocked_until LIMIT 100))
                         FOR NO KEY UPDATE SKIP LOCKED
        LOOP
            -- The SELECT may also lock a lane that another transaction has just opened.
            claim.must_not_wait := true;
            UPDATE ojs_lane AS l SET blocked_by = NULL, blocked_until = NULL, vt = ojs_rejoin(l),
                                     paid = CASE WHEN l.scope IS NULL THEN 0
                                                 ELSE ojs_served(l.scope, l.rank, l.tenant) END
             WHERE l.ctid = v_lane.lane_ctid AND v_lane.until <= claim.now;
        END LOOP;
    END IF;
    IF claim.is_hinted THEN
        -- A lane of higher priority may have woken since the low-water mark was taken.
        PERFORM 1 FROM ojs_lane AS l
          WHERE l.queue = claim.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
            AND l.rank < request.low_ranks[p_position]
          ORDER BY l.queue, l.rank, l.vt LIMIT 1;
        claim.is_hinted := NOT FOUND;
    END IF;
    IF request.tenant IS NOT NULL THEN
        RETURN claim;
    END IF;

    IF claim.is_hinted THEN
        v_from_rank := request.low_ranks[p_position];
        v_from_vt := request.low_vts[p_position];
    END IF;
    claim.first_lanes := ARRAY(
        SELECT ROW(l.id, l.tenant, l.rank, l.vt, l.low, l.ordered,
                   NOT l.ordered AND NOT l.timed AND l.limits IS NULL AND l.returned IS NULL
                  )::ojs_first_lane
          FROM ojs_lane AS l
         WHERE l.queue = claim.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
           AND (l.rank, l.vt) >= (v_from_rank, v_from_vt)
           AND ojs_eligible(l, claim.exhausted, claim.closed, request.version_keys)
         ORDER BY l.queue, l.rank, l.vt, l.id LIMIT 2);
    IF cardinality(claim.first_lanes) = 0 AND NOT claim.is_hinted THEN
        claim.quota := 0;
    END IF;
    claim.is_plain_queue := cardinality(claim.first_lanes) = 1 AND claim.first_lanes[1].is_plain
                      AND NOT claim.must_not_wait AND p_most IS NULL AND request.scopes IS NULL;
    RETURN claim;
END $$
