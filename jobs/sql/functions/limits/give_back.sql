-- ojs_give_back: update limits and lanes after active jobs ended without success. It opens lanes
-- that waited for the limits of these jobs. It marks lanes to which jobs returned, so that claims
-- find each job at its former place (ADR 0025). The statement that deletes the leases and inserts
-- the ready rows calls it. Any of the arrays may be empty.
--
-- p_jobs and p_limits: see ojs_release. p_lanes and p_seqs have one entry for each job that is
-- available again. A `seq` is null if the lease had none; that job is at the end of its lane.
-- Returns the number of lanes to which jobs returned; if there are none, as ojs_release.
-- Locks, in this order: the limits (shared); the stripes of the lanes (shared); all lanes that may
-- change, in id order. ojs_release and ojs_wake then take locks that this function already holds.
-- Raises OJS01 if a lane does not exist, as ojs_wake does.
CREATE OR REPLACE FUNCTION ojs_give_back(
    p_jobs uuid[], p_limits bigint[], p_lanes bigint[], p_seqs bigint[]
) RETURNS int LANGUAGE plpgsql STRICT AS $$
DECLARE
    v_lanes bigint[] := ARRAY(SELECT DISTINCT u.lane FROM unnest(p_lanes) AS u (lane) ORDER BY 1);
BEGIN
    IF cardinality(v_lanes) = 0 THEN
        RETURN CASE WHEN cardinality(p_limits) > 0 THEN ojs_release(p_jobs, p_limits) ELSE 0 END;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(20266602, s.key)
       FROM (SELECT DISTINCT (l % 2147483648)::int AS key FROM unnest(p_limits) AS l ORDER BY 1
            ) AS s;
    PERFORM pg_advisory_xact_lock_shared(20266603, s.stripe)
       FROM (SELECT DISTINCT (l % 128)::int AS stripe FROM unnest(v_lanes) AS l ORDER BY 1) AS s;
    PERFORM 1 FROM ojs_lane AS l
      WHERE l.id = ANY (v_lanes || ARRAY(SELECT b.id FROM ojs_lane AS b
                                          WHERE b.blocked_by = ANY (p_limits)))
      ORDER BY l.id FOR NO KEY UPDATE;
    IF cardinality(p_limits) > 0 THEN
        PERFORM ojs_release(p_jobs, p_limits);
    END IF;
    PERFORM ojs_wake(v_lanes);
    UPDATE ojs_lane AS l
       SET returned = greatest(l.returned, s.last), low = least(l.low, s.first),
           vt = CASE WHEN l.ordered THEN least(l.vt, s.first) ELSE l.vt END, boost = l.boost
      FROM (SELECT u.lane, min(u.seq) AS first, max(u.seq) AS last
              FROM unnest(p_lanes, p_seqs) AS u (lane, seq)
             WHERE u.seq IS NOT NULL GROUP BY u.lane) AS s
     WHERE l.id = ANY (v_lanes) AND l.id = s.lane;
    RETURN cardinality(v_lanes);
END $$
