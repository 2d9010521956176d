-- ojs_clear_returned: clear the column `returned` of lanes that have no more returned jobs; see ADR
-- 0025. Returns whether the claim may hold a lane.
-- Locks: the lanes (SKIP LOCKED). The UPDATE looks for returned jobs with a snapshot taken under
-- the lock. It sees all of them: a transaction that returns a job must lock the lane before it
-- commits.
CREATE OR REPLACE FUNCTION ojs_clear_returned(p_lanes bigint[]) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_lane record;
    v_may_hold boolean := false;
BEGIN
    FOR v_lane IN SELECT l.ctid AS lane_ctid, l.id, l.returned FROM ojs_lane AS l
                   WHERE l.id = ANY (p_lanes) AND l.returned IS NOT NULL
                     FOR NO KEY UPDATE SKIP LOCKED
    LOOP
        v_may_hold := true;
        UPDATE ojs_lane AS l SET returned = NULL
         WHERE l.ctid = v_lane.lane_ctid
           AND (SELECT true FROM ojs_ready AS z
                 WHERE z.lane_id = v_lane.id AND z.seq <= v_lane.returned
                 ORDER BY z.lane_id, z.seq LIMIT 1) IS NULL;
    END LOOP;
    RETURN v_may_hold;
END $$
