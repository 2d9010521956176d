-- ojs_release: let the lanes of capped tenants run again after one of their leases ended.
-- Locks: the tenants, shared: a claim blocks a lane only under the exclusive tenant lock and after
-- counting, so it has either seen our lease gone or we see its block. Then the lanes, in id order.
CREATE OR REPLACE FUNCTION ojs_release(p_tenants text[]) RETURNS int
LANGUAGE plpgsql STRICT AS $$
DECLARE
    lane record;
    freed int := 0;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(20266602, s.key)
       FROM (SELECT DISTINCT hashtext(t) AS key FROM unnest(p_tenants) AS t ORDER BY 1) AS s;
    FOR lane IN SELECT l.id, l.queue FROM ojs_lane AS l
                 WHERE l.tenant = ANY (p_tenants) AND l.cap IS NOT NULL AND l.blocked
                 ORDER BY l.id FOR NO KEY UPDATE
    LOOP
        UPDATE ojs_lane AS l
           SET blocked = false, vt = greatest(l.vt, ojs_present(l.queue, l.rank))
         WHERE l.id = lane.id;
        PERFORM pg_notify('ojs_ready', lane.queue);
        freed := freed + 1;
    END LOOP;
    RETURN freed;
END $$
