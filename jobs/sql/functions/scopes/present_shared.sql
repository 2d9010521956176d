-- ojs_present_shared: return the same as ojs_present, for lanes of a scope: the result includes the
-- starts of their tenants in other queues. The function adds these starts only for the first eight
-- lanes. The stored virtual time of the ninth lane is a lower bound for all further lanes.
CREATE OR REPLACE FUNCTION ojs_present_shared(p_scope text, p_queue text, p_rank smallint)
RETURNS float8 LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT min(z.vt + CASE WHEN z.n > 8 THEN 0 ELSE
                       greatest(ojs_served(p_scope, p_rank, z.tenant) - z.paid, 0) END)
              FROM (SELECT m.vt, m.paid, m.tenant, row_number() OVER (ORDER BY m.vt, m.id) AS n
                      FROM ojs_lane AS m
                     WHERE m.queue = p_queue COLLATE "C" AND m.rank = p_rank
                       AND ojs_offered(m.active, m.blocked_by, m.paused)
                     ORDER BY m.queue, m.rank, m.vt, m.id LIMIT 9) AS z);
END $$
SET enable_seqscan = off
SET enable_bitmapscan = off
