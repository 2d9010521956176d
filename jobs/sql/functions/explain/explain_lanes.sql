-- ojs_explain_lanes: return the lanes from which claims of a lane's queue take jobs before or with
-- that lane, in the order of the claim. At most p_most of the lanes that wait are returned.
-- `reopens`: the next claim opens the lane. Lanes with equal virtual times come in the order of their
-- index.
-- Reads only.
CREATE OR REPLACE FUNCTION ojs_explain_lanes(p_lane ojs_lane, p_most int, p_now timestamptz)
RETURNS TABLE (id bigint, rank smallint, vt float8, weight float8, limits bigint[], reopens boolean)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    -- The claim first opens lanes whose limit has opened by itself: see ojs_claim_queue.
    RETURN QUERY
    WITH opens AS MATERIALIZED (
        SELECT row_number() OVER () AS n, o.*
          FROM (SELECT l.id, l.rank, l.weight, l.limits, l.ordered, l.timed, l.scope,
                       l.vt + CASE WHEN l.scope IS NULL THEN 0 ELSE
                              greatest(ojs_served(l.scope, l.rank, l.tenant) - l.paid, 0) END AS vt,
                       ojs_offered(l.active, NULL, l.paused) AS is_offered
                  FROM ojs_lane AS l
                 WHERE l.queue = p_lane.queue AND l.blocked_until <= p_now
                 ORDER BY l.queue, l.blocked_until LIMIT 100) AS o
    ), waits AS (
        SELECT row_number() OVER (ORDER BY o.id) AS n, o.*,
               CASE WHEN o.scope IS NOT NULL THEN ojs_served(o.scope, o.rank, o.tenant) END AS served
          FROM (SELECT l.id, l.rank, l.vt, l.weight, l.limits, l.scope, l.tenant, l.paid
                  FROM ojs_lane AS l
                 WHERE l.queue = p_lane.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
                   AND l.rank <= p_lane.rank
                 ORDER BY l.queue, l.rank, l.vt LIMIT p_most) AS o
    ), lanes AS (
        -- The claim charges lanes of a scope before it orders them: see ojs_settle.
        SELECT w.n, false AS reopens, w.id, w.rank,
               CASE WHEN w.scope IS NULL THEN w.vt ELSE ojs_raised(
                   w.vt, w.paid, w.weight, w.served,
                   min(w.vt + greatest(w.served - w.paid, 0)) OVER (PARTITION BY w.rank)) END AS vt,
               w.weight, w.limits
          FROM waits AS w
         UNION ALL
        SELECT p_most + o.n, true, o.id, o.rank,
               CASE WHEN o.ordered THEN o.vt ELSE ojs_joined(o.vt, o.weight, o.timed, coalesce(
                   CASE WHEN o.scope IS NOT NULL
                        THEN ojs_present_shared(o.scope, p_lane.queue, o.rank) END,
                   (SELECT m.vt FROM ojs_lane AS m
                     WHERE m.queue = p_lane.queue AND m.rank = o.rank
                       AND ojs_offered(m.active, m.blocked_by, m.paused)
                     ORDER BY m.queue, m.rank, m.vt LIMIT 1),
                   first_value(o.vt) OVER (PARTITION BY o.rank ORDER BY o.n))) END,
               o.weight, o.limits
          FROM opens AS o WHERE o.is_offered AND o.rank <= p_lane.rank
    )
    SELECT l.id, l.rank, l.vt, l.weight, l.limits, l.reopens FROM lanes AS l
     ORDER BY l.rank, l.vt, l.n;
END $$
