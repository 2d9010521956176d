-- ojs_open: return for each queue whether it seems to have jobs (`is_open`): the queue has an
-- offered lane, or a lane whose limit has opened by itself. p_routes is `version_keys` of
-- ojs_make_request, which also describes the other parameters.
--
-- With p_counts, `keys` has minus the number of available jobs of each queue, so the deepest queue
-- comes first. The function counts at most 10,000 jobs in all, but at least 100 of each queue. If a
-- queue reaches this bound, the aggregated count of the loop `fold` applies, if it is larger.
--
-- With p_ranks, `ranks` has the smallest rank of each open queue's lanes; null: not open.
--
-- The searches are scalar subqueries: PostgreSQL may hash an EXISTS, which reads all lanes.
CREATE OR REPLACE FUNCTION ojs_open(
    p_queues text[], p_tenant text, p_routes int[], p_low_ranks smallint[], p_low_vts float8[],
    p_counts boolean, p_ranks boolean, OUT is_open boolean[], OUT keys float8[],
    OUT ranks smallint[]
) LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_most int := greatest(100, 10000 / cardinality(p_queues));
    v_paused text[];
BEGIN
    -- This query reads an index of the few paused queues. A join would read a row of each queue.
    v_paused := ARRAY(SELECT u.name FROM ojs_queue AS u
                       WHERE u.name = ANY (p_queues) AND u.paused_at IS NOT NULL);
    -- Search up to three times, until a search finds a lane: lanes from the low-water mark on, all
    -- offered lanes, lanes whose limit has opened. A tenant has few lanes, so one search by key is
    -- enough.
    IF p_tenant IS NULL THEN
        SELECT array_agg(x.queue <> ALL (v_paused) AND coalesce(
                   CASE WHEN p_low_ranks[x.i] IS NOT NULL THEN
                   (SELECT true FROM ojs_lane AS l
                     WHERE l.queue = x.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
                       AND (l.rank, l.vt) >= (p_low_ranks[x.i], p_low_vts[x.i])
                       AND (p_routes IS NULL OR l.route = ANY (p_routes))
                     ORDER BY l.queue, l.rank, l.vt LIMIT 1) END,
                   (SELECT true FROM ojs_lane AS l
                     WHERE l.queue = x.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
                       AND (p_routes IS NULL OR l.route = ANY (p_routes))
                     ORDER BY l.queue, l.rank, l.vt LIMIT 1),
                   (SELECT true FROM ojs_lane AS l
                     WHERE l.queue = x.queue AND l.blocked_until <= v_now
                     ORDER BY l.queue, l.blocked_until LIMIT 1),
                   false) ORDER BY x.i)
          INTO is_open
          FROM unnest(p_queues) WITH ORDINALITY AS x (queue, i);
    ELSE
        SELECT array_agg(x.queue <> ALL (v_paused) AND coalesce(
                   (SELECT true FROM ojs_lane_key AS k JOIN ojs_lane AS l ON l.id = k.id
                     WHERE k.tenant = p_tenant AND k.queue = x.queue
                       AND (p_routes IS NULL OR k.route = ANY (p_routes))
                       AND l.active AND NOT l.paused
                       AND (l.blocked_by IS NULL OR l.blocked_until <= v_now) LIMIT 1),
                   false) ORDER BY x.i)
          INTO is_open
          FROM unnest(p_queues) WITH ORDINALITY AS x (queue, i);
    END IF;
    -- The smallest rank may lie before the low-water mark: a lane may have woken there since a
    -- claim set the mark.
    IF p_ranks AND p_tenant IS NULL THEN
        SELECT array_agg(CASE WHEN x.is_open THEN least(coalesce(
                   (SELECT l.rank FROM ojs_lane AS l
                     WHERE l.queue = x.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
                       AND l.rank < p_low_ranks[x.i]
                       AND (p_routes IS NULL OR l.route = ANY (p_routes))
                     ORDER BY l.queue, l.rank, l.vt LIMIT 1),
                   (SELECT l.rank FROM ojs_lane AS l
                     WHERE l.queue = x.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
                       AND (l.rank, l.vt) >= (p_low_ranks[x.i], p_low_vts[x.i])
                       AND (p_routes IS NULL OR l.route = ANY (p_routes))
                     ORDER BY l.queue, l.rank, l.vt LIMIT 1),
                   (SELECT l.rank FROM ojs_lane AS l
                     WHERE l.queue = x.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
                       AND (p_routes IS NULL OR l.route = ANY (p_routes))
                     ORDER BY l.queue, l.rank, l.vt LIMIT 1)),
                   -- lanes whose limit has opened: the claim will open them
                   (SELECT min(o.rank)
                      FROM (SELECT l.rank, l.active, l.paused, l.route FROM ojs_lane AS l
                             WHERE l.queue = x.queue AND l.blocked_until <= v_now
                             ORDER BY l.queue, l.blocked_until LIMIT 100) AS o
                     WHERE o.active AND NOT o.paused
                       AND (p_routes IS NULL OR o.route = ANY (p_routes)))) END ORDER BY x.i)
          INTO ranks
          FROM unnest(p_queues, is_open) WITH ORDINALITY AS x (queue, is_open, i);
    ELSIF p_ranks THEN
        SELECT array_agg(CASE WHEN x.is_open THEN
                   (SELECT min(l.rank) FROM ojs_lane_key AS k JOIN ojs_lane AS l ON l.id = k.id
                     WHERE k.tenant = p_tenant AND k.queue = x.queue
                       AND (p_routes IS NULL OR k.route = ANY (p_routes))
                       AND l.active AND NOT l.paused
                       AND (l.blocked_by IS NULL OR l.blocked_until <= v_now)) END ORDER BY x.i)
          INTO ranks
          FROM unnest(p_queues, is_open) WITH ORDINALITY AS x (queue, is_open, i);
    END IF;
    IF NOT p_counts THEN
        RETURN;
    END IF;
    SELECT array_agg(-CASE WHEN n.jobs < v_most THEN n.jobs
                           ELSE greatest(n.jobs, (SELECT d.jobs FROM ojs_depth AS d
                                                   WHERE d.queue = x.queue AND d.state = 3)) END
                     ORDER BY x.i)
      INTO keys
      FROM unnest(p_queues, is_open) WITH ORDINALITY AS x (queue, is_open, i)
     CROSS JOIN LATERAL (
           SELECT count(*) AS jobs
             FROM (SELECT 1
                     FROM (SELECT l.id FROM ojs_lane AS l
                            WHERE x.is_open AND p_tenant IS NULL AND l.queue = x.queue
                              AND ojs_offered(l.active, l.blocked_by, l.paused)
                              AND (p_routes IS NULL OR l.route = ANY (p_routes))
                            UNION ALL
                           SELECT l.id FROM ojs_lane_key AS k JOIN ojs_lane AS l ON l.id = k.id
                            WHERE x.is_open AND k.tenant = p_tenant AND k.queue = x.queue
                              AND (p_routes IS NULL OR k.route = ANY (p_routes))
                              AND ojs_offered(l.active, l.blocked_by, l.paused)) AS l
                    CROSS JOIN LATERAL (
                          SELECT 1 FROM ojs_ready AS z
                           WHERE z.lane_id = l.id
                             AND ojs_claimable(z, v_now)
                           ORDER BY z.lane_id, z.seq LIMIT v_most) AS z
                    LIMIT v_most) AS counted
           ) AS n;
END $$
