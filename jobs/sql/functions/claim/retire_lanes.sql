-- ojs_retire_lanes: mark lanes without a job as not `active`, so that claims do not read them. It
-- leaves out lanes to which a transaction is adding jobs: see ojs_wake. Returns whether the claim
-- may hold a lane.
-- Locks: the lanes' stripes (exclusive, tried), then the lanes (SKIP LOCKED).
CREATE OR REPLACE FUNCTION ojs_retire_lanes(p_lanes bigint[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_lane bigint;
    v_may_hold boolean := false;
BEGIN
    FOR v_lane IN SELECT u.lane FROM unnest(p_lanes) AS u (lane)
                   WHERE (SELECT true FROM ojs_ready AS z WHERE z.lane_id = u.lane
                           ORDER BY z.lane_id, z.seq LIMIT 1) IS NULL
    LOOP
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(20266603, (v_lane % 128)::int);
        v_may_hold := true;
        -- Read in a statement after the lock. The statement that takes the lock has an older
        -- snapshot: it would miss jobs of a transaction that has just committed and released the
        -- lock.
        CONTINUE WHEN EXISTS (SELECT 1 FROM ojs_ready AS z WHERE z.lane_id = v_lane);
        UPDATE ojs_lane AS l SET active = false, returned = NULL
          FROM (SELECT m.id FROM ojs_lane AS m WHERE m.id = v_lane AND m.active
                   FOR NO KEY UPDATE SKIP LOCKED) AS s
         WHERE l.id = s.id AND l.id = v_lane;
        IF FOUND THEN
            -- ojs_wake gives the lane a new virtual time, to which no debt belongs.
            DELETE FROM ojs_debt AS t WHERE t.lane_id = v_lane;
        END IF;
    END LOOP;
    RETURN v_may_hold;
END $$
