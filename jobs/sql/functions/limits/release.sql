-- ojs_release: end the count of active jobs for their limits, and open the lanes that these limits
-- block. It also wakes the fetchers of a queue whose own limit was reached. The statement that
-- deletes the leases calls it. If `p_jobs` is empty, it only opens lanes. Returns their number.
-- Locks: the limits (shared), then the lanes, in id order. A claim counts the jobs of a limit and
-- blocks lanes under the exclusive lock of the limit. So the claim either counts without the ended
-- jobs, or this function sees the lanes that it has blocked.
CREATE OR REPLACE FUNCTION ojs_release(p_jobs uuid[], p_limits bigint[]) RETURNS int
LANGUAGE plpgsql STRICT AS $$
DECLARE
    lane record;
    freed int := 0;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(20266602, s.key)
       FROM (SELECT DISTINCT (l % 2147483648)::int AS key FROM unnest(p_limits) AS l ORDER BY 1
            ) AS s;
    DELETE FROM ojs_hold AS h WHERE h.limit_id = ANY (p_limits) AND h.job_id = ANY (p_jobs);
    FOR lane IN SELECT l.id, l.queue FROM ojs_lane AS l WHERE l.blocked_by = ANY (p_limits)
                 ORDER BY l.id FOR NO KEY UPDATE
    LOOP
        UPDATE ojs_lane AS l
           SET blocked_by = NULL, blocked_until = NULL, vt = ojs_rejoin(l),
               paid = CASE WHEN l.scope IS NULL THEN 0
                           ELSE ojs_served(l.scope, l.rank, l.tenant) END
         WHERE l.id = lane.id;
        PERFORM pg_notify('ojs_ready', lane.queue);
        freed := freed + 1;
    END LOOP;
    PERFORM pg_notify('ojs_ready', m.key) FROM ojs_limit AS m
      WHERE m.id = ANY (p_limits) AND m.kind = 1 AND m.is_exceeded;
    RETURN freed;
END $$
