-- ojs_clear_returned: clear the mark of lanes whose last returned job was taken; see ADR 0025.
-- Returns whether the claim may hold a lane.
-- Locks: the lanes (SKIP LOCKED). A statement of its own looks for returned jobs after the lock. It
-- sees all of them, because a statement that returns a job marks the lane before it commits.
CREATE OR REPLACE FUNCTION ojs_clear_returned(p_lanes bigint[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_lane record;
    v_is_holding boolean := false;
BEGIN
    FOR v_lane IN SELECT l.ctid AS place, l.id, l.returned FROM ojs_lane AS l
                   WHERE l.id = ANY (p_lanes) AND l.returned IS NOT NULL
                     FOR NO KEY UPDATE SKIP LOCKED
    LOOP
        v_is_holding := true;
        UPDATE ojs_lane AS l SET returned = NULL
         WHERE l.ctid = v_lane.place
           AND (SELECT true FROM ojs_ready AS z
                 WHERE z.lane_id = v_lane.id AND z.seq <= v_lane.returned
                 ORDER BY z.lane_id, z.seq LIMIT 1) IS NULL;
    END LOOP;
    RETURN v_is_holding;
END $$
