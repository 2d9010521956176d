-- ojs_advance_ordered: raise the virtual time of ordered lanes to the `seq` of their first job.
-- Jobs that other claims have locked count too, because such a claim may roll back. Returns whether
-- the claim may hold a lane.
-- Locks: the lanes (SKIP LOCKED).
CREATE OR REPLACE FUNCTION ojs_advance_ordered(p_lanes bigint[], p_now timestamptz) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_lane record;
    v_may_hold boolean := false;
BEGIN
    FOR v_lane IN SELECT l.ctid AS lane_ctid, (
                         SELECT z.seq FROM ojs_ready AS z
                          WHERE z.lane_id = l.id
                            AND z.seq >= coalesce(ojs_lowest(l.low, l.returned) - 128, 0)
                            AND ojs_claimable(z, p_now)
                          ORDER BY z.lane_id, z.seq LIMIT 1) AS head
                    FROM ojs_lane AS l
                   WHERE l.id = ANY (p_lanes) AND l.ordered
                     FOR NO KEY UPDATE SKIP LOCKED
    LOOP
        v_may_hold := true;
        UPDATE ojs_lane AS l
           SET vt = greatest(l.vt, v_lane.head), low = greatest(l.low, v_lane.head)
         WHERE l.ctid = v_lane.lane_ctid AND v_lane.head > l.vt
           AND l.returned IS NULL;  -- a job may have returned below `head` after the read
    END LOOP;
    RETURN v_may_hold;
END $$
