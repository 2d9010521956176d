-- ojs_block_lanes_of_limit: block more lanes of the limit that the claim reached last, so that
-- later claims skip them. The function reads the hundred lanes from the head on. It blocks no lanes
-- beyond these, because the end of a job of the limit has to open all blocked lanes.
-- Locks: the lanes (SKIP LOCKED).
CREATE OR REPLACE FUNCTION ojs_block_lanes_of_limit(claim ojs_claim_state) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_limit bigint := claim.reached[cardinality(claim.reached)];
BEGIN
    UPDATE ojs_lane AS l SET blocked_by = v_limit, blocked_until = claim.reached_until
      FROM (SELECT m.ctid AS lane_ctid FROM ojs_lane AS m
             WHERE m.id = ANY (ARRAY(
                   SELECT z.id
                     FROM (SELECT n.id, n.limits FROM ojs_lane AS n
                            WHERE n.queue = claim.stored_queue
                              AND ojs_offered(n.active, n.blocked_by, n.paused)
                              AND (n.rank, n.vt) >= (claim.rank, claim.vt)
                            ORDER BY n.queue, n.rank, n.vt LIMIT 100) AS z
                    WHERE v_limit = ANY (z.limits)))
               AND ojs_offered(m.active, m.blocked_by, m.paused)
               FOR NO KEY UPDATE SKIP LOCKED) AS s
     WHERE l.ctid = s.lane_ctid;
END $$
