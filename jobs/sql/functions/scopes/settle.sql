-- ojs_settle: raise the virtual times of a queue's next lanes of one rank by what their tenants got in
-- other queues of the scope, until none of the first p_most is behind; returns that of the next lane.
-- Virtual times of lanes of a scope are lower bounds, and what a tenant got only grows: so when none
-- of the first is behind, none of all others comes before them. A lane is raised only after its tenant
-- got jobs elsewhere. Where more than some hundreds are behind, the rest is left to the next claims, and
-- this one goes by what it knows. See ADR 0018.
-- p_barren, p_shut and p_routes as `exhausted`, `closed` and `version_keys` of the claim, whose planner
-- settings count. The caller holds the lock of the scope.
-- Locks: the lanes that are raised, SKIP LOCKED.
CREATE OR REPLACE FUNCTION ojs_settle(
    p_scope text, p_queue text, p_rank smallint, p_vt float8, p_most int,
    p_barren bigint[], p_shut bigint[], p_routes int[]
) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    v_most int := p_most + 1;  -- one more, so that it is known how far one alone may be raised
    v_ids bigint[];
    v_costs float8[];
    v_first int;
    v_present float8;
    v_vt float8;
    v_raised int;
BEGIN
    FOR look IN 1 .. 9 LOOP
        SELECT array_agg(z.id) FILTER (WHERE z.cost <> z.paid),
               array_agg(z.cost) FILTER (WHERE z.cost <> z.paid),
               min(z.n) FILTER (WHERE z.cost <> z.paid),
               min(z.vt + greatest(z.cost - z.paid, 0)), min(z.vt)
          INTO v_ids, v_costs, v_first, v_present, v_vt
          FROM (SELECT l.id, l.vt, l.paid, l.n, coalesce(
                       (SELECT s.cost FROM ojs_served AS s
                         WHERE s.scope = p_scope COLLATE "C" AND s.rank = l.rank
                           AND s.tenant = l.tenant
                         ORDER BY s.scope DESC, s.rank DESC, s.tenant DESC, s.cost DESC LIMIT 1), 0)
                       AS cost
                  FROM (SELECT m.id, m.rank, m.tenant, m.vt, m.paid,
                               row_number() OVER (ORDER BY m.queue, m.rank, m.vt) AS n
                          FROM ojs_lane AS m
                         WHERE m.queue = p_queue COLLATE "C" AND m.rank = p_rank AND m.vt >= p_vt
                           AND ojs_offered(m.active, m.blocked_by, m.paused)
                           AND ojs_eligible(m.id, m.limits, m.route, p_barren, p_shut, p_routes)
                         ORDER BY m.queue, m.rank, m.vt LIMIT v_most) AS l) AS z;
        EXIT WHEN v_first IS NULL OR v_first > p_most + 1 OR look = 9;
        UPDATE ojs_lane AS l
           SET vt = ojs_raised(l.vt, l.paid, l.weight, s.cost, v_present), paid = s.cost
          FROM (SELECT m.ctid AS place, u.cost
                  FROM ojs_lane AS m JOIN unnest(v_ids, v_costs) AS u (lane, cost) ON u.lane = m.id
                 WHERE m.id = ANY (v_ids) FOR NO KEY UPDATE OF m SKIP LOCKED) AS s
         WHERE l.ctid = s.place;
        GET DIAGNOSTICS v_raised = ROW_COUNT;
        EXIT WHEN v_raised = 0;  -- others have them
        v_most := greatest(v_most, least(2 * v_most, 256));
    END LOOP;
    RETURN v_vt;
END $$
