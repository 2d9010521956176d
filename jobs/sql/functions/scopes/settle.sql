-- ojs_settle: raise the virtual times of a queue's next lanes of one rank by the starts of their
-- tenants in other queues of the scope. Returns the virtual time of the next lane; null: no lane is
-- eligible. p_most: how many jobs the caller will take. See ADR 0018.
--
-- ojs_add_costs and ojs_spend add started jobs to the cost of a tenant in a scope; ojs_served
-- reads this cost. The `paid` of a lane is the part of the cost that its virtual time includes. A
-- lane is behind if `paid` is not the whole cost; ojs_settle then raises it with ojs_raised. A debt
-- (ojs_debt) is something else: jobs that a claim took without the lane's lock.
--
-- The stored virtual time of a lane in a scope is a lower bound, because a tenant's cost only
-- grows. So if none of the first p_most + 1 lanes is behind, their order is final and the function
-- stops. It makes at most eight changes, each of at most 256 lanes (or p_most + 1, if that is
-- more), and leaves further lanes to later claims.
--
-- p_barren, p_shut and p_routes are `exhausted`, `closed` and `version_keys` of the claim. The
-- names are of release 0.2.0, whose claim calls this function: see ADR 0026. The function has no
-- planner settings: the settings of the claim apply.
-- Locks: the raised lanes (SKIP LOCKED). The caller holds the lock of the scope.
CREATE OR REPLACE FUNCTION ojs_settle(
    p_scope text, p_queue text, p_rank smallint, p_vt float8, p_most int,
    p_barren bigint[], p_shut bigint[], p_routes int[]
) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    v_most int := p_most + 1;  -- of one lane alone, ojs_raised has no bound
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
                           AND ojs_eligible(m, p_barren, p_shut, p_routes)
                         ORDER BY m.queue, m.rank, m.vt LIMIT v_most) AS l) AS z;
        EXIT WHEN v_first IS NULL OR v_first > p_most + 1 OR look = 9;
        UPDATE ojs_lane AS l
           SET vt = ojs_raised(l.vt, l.paid, l.weight, s.cost, v_present), paid = s.cost
          FROM (SELECT m.ctid AS place, u.cost
                  FROM ojs_lane AS m JOIN unnest(v_ids, v_costs) AS u (lane, cost) ON u.lane = m.id
                 WHERE m.id = ANY (v_ids) FOR NO KEY UPDATE OF m SKIP LOCKED) AS s
         WHERE l.ctid = s.place;
        GET DIAGNOSTICS v_raised = ROW_COUNT;
        EXIT WHEN v_raised = 0;  -- other transactions hold the lanes
        v_most := greatest(v_most, least(2 * v_most, 256));
    END LOOP;
    RETURN v_vt;
END $$
