-- ojs_cap_limits: bound the jobs of each pick by the limits of its lane, and block lanes whose
-- limit is reached. If the limit's `on_limit` is `wait`, the rest of the claim skips all lanes of
-- the limit (`closed`). Otherwise `over_limit` names the lane, and the caller drops or reschedules
-- its jobs. While an override of the limit is in force, its `on_limit` decides.
--
-- Locks: the limits (exclusive, tried). If another claim has locked a limit, this claim treats the
-- limit as closed and skips its lanes. The limit may have room, so jobs of these lanes may still
-- start. Therefore the queue gives no jobs of a lower priority (`busy_rank`).
CREATE OR REPLACE FUNCTION ojs_cap_limits(claim ojs_claim_state) RETURNS ojs_claim_state
LANGUAGE plpgsql AS $$
DECLARE
    v_planned int[] := claim.planned;
    v_pick ojs_pick;
    v_at int := 0;  -- index of the pick
    v_limits bigint[];
    v_limit bigint;
    v_seen bigint[] := '{}'::bigint[];  -- the limits so far, locked by this claim or by another
    -- By index in v_seen: how many more jobs the limit admits. Null: any number; 0: this look has
    -- used up the room; -1: another claim has the lock; -2: the limit was reached before this look.
    v_rooms int[] := '{}'::int[];
    v_opens timestamptz[] := '{}'::timestamptz[];
    v_n int;  -- index of the limit in v_seen
    v_room int;
    v_reached bigint;
    v_until timestamptz;
    v_ctid tid;
    v_on_limit text;
BEGIN
    FOREACH v_pick IN ARRAY claim.picks LOOP
        v_at := v_at + 1;
        CONTINUE WHEN NOT v_pick.is_limited OR v_planned[v_at] = 0;
        SELECT l.limits INTO v_limits FROM ojs_lane AS l WHERE l.ctid = v_pick.lane_ctid;
        v_room := v_planned[v_at];
        v_reached := NULL;
        v_until := NULL;
        FOREACH v_limit IN ARRAY v_limits LOOP
            IF v_limit <> ALL (v_seen) THEN
                v_seen := v_seen || v_limit;
                IF pg_try_advisory_xact_lock(20266602, (v_limit % 2147483648)::int) THEN
                    claim.now := clock_timestamp();
                    SELECT v_rooms || CASE o.room WHEN 0 THEN -2 ELSE o.room END, v_opens || o.opens_at
                      INTO v_rooms, v_opens FROM ojs_room(v_limit, claim.now) AS o;
                ELSE
                    v_rooms := v_rooms || -1;
                    v_opens := v_opens || NULL::timestamptz;
                    claim.closed := claim.closed || v_limit;
                    claim.busy_rank := claim.rank;
                    claim.blocked_on := v_limit;
                END IF;
            END IF;
            v_n := array_position(v_seen, v_limit);
            IF v_rooms[v_n] = -2 THEN
                v_reached := v_limit;
                v_until := v_opens[v_n];
            END IF;
            v_room := least(v_room, v_rooms[v_n]);
        END LOOP;
        v_room := greatest(v_room, 0);
        IF v_reached IS NOT NULL THEN
            UPDATE ojs_lane AS l SET blocked_by = v_reached, blocked_until = v_until
             WHERE l.ctid = v_pick.lane_ctid
            RETURNING l.ctid INTO v_ctid;
            claim.picks[v_at].lane_ctid := v_ctid;
            SELECT ojs_limit_policy(m, claim.now) ->> 'on_limit' INTO v_on_limit
              FROM ojs_limit AS m WHERE m.id = v_reached;
            IF v_on_limit <> 'wait' THEN
                claim.over_limit := coalesce(claim.over_limit, '[]') || jsonb_build_object(
                    'lane', v_pick.lane, 'jobs', v_planned[v_at], 'limit', v_reached,
                    'on_limit', v_on_limit);
            ELSE
                claim.reached := claim.reached || v_reached;
                claim.reached_until := v_until;
                claim.closed := claim.closed || v_reached;
            END IF;
        END IF;
        v_planned[v_at] := v_room;
        FOREACH v_limit IN ARRAY v_limits LOOP
            v_n := array_position(v_seen, v_limit);
            v_rooms[v_n] := v_rooms[v_n] - v_room;
        END LOOP;
    END LOOP;
    claim.planned := v_planned;
    claim.planned_total := (SELECT sum(n) FROM unnest(v_planned) AS n);
    RETURN claim;
END $$
