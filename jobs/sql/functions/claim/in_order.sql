-- ojs_in_order: the oldest waiting jobs of a queue's lanes of one rank, whosever they are: how many
-- of which lane. For queues whose tenants are served in order; ojs_hand_out takes them.
--
-- A lane's `vt` is then at most the `seq` of its first job, but for jobs that were stored late. So the
-- lanes with the smallest are enough to look at, and what they have up to the `vt` of the next one
-- comes before what any other lane has. More lanes, and more jobs of each, are looked at only when
-- all that was found is in the hands of others or lies behind that bound.
--
-- Parameters: p_near, not null: the lanes to choose from, else those of p_queue and p_rank from p_vt
-- on, without p_barren and for p_routes; p_lows bounds the jobs by the lanes' `low`.
-- `empty`: lanes without a job to see, which may retire; `behind`: lanes whose `vt` may have fallen far
-- behind their jobs, which made the look wider.
-- Locks: the jobs, SKIP LOCKED, so that a neighbour goes on with the next oldest.
CREATE OR REPLACE FUNCTION ojs_in_order(
    p_queue text, p_rank smallint, p_vt float8, p_near bigint[], p_barren bigint[], p_routes int[],
    p_quota int, p_lows boolean, p_now timestamptz,
    OUT lanes bigint[], OUT takes int[], OUT empty bigint[], OUT behind bigint[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_lanes int := p_quota + 8;
    v_deep int := greatest(4, least(p_quota, 256 / (p_quota + 8)));
    v_ids bigint[] := p_near;
    v_next float8;  -- the jobs of lanes that are not looked at lie from here on
    v_cut bigint;  -- of the lanes that are, no job before it was left out
BEGIN
    FOR pass IN 1 .. 8 LOOP
        IF p_near IS NULL THEN
            SELECT array_agg(z.id), CASE WHEN count(*) > v_lanes THEN max(z.vt) END
              INTO v_ids, v_next
              FROM (SELECT l.id, l.vt FROM ojs_lane AS l
                     WHERE l.queue = p_queue AND ojs_offered(l.active, l.blocked_by, l.paused)
                       AND l.rank = p_rank AND l.vt >= p_vt
                       AND ojs_eligible(l.id, NULL, l.route, p_barren, NULL, p_routes)
                     ORDER BY l.queue, l.rank, l.vt LIMIT v_lanes + 1) AS z;
        END IF;
        WITH near AS MATERIALIZED (
            SELECT u.lane, h.place, h.seq, row_number() OVER (PARTITION BY u.lane ORDER BY h.seq) AS n
              FROM unnest(v_ids) AS u (lane)
              LEFT JOIN LATERAL (
                   SELECT z.ctid AS place, z.seq FROM ojs_ready AS z
                    WHERE z.lane_id = u.lane
                      AND z.seq >= CASE WHEN p_lows
                                        THEN (SELECT coalesce(ojs_lowest(l.low, l.returned) - 128, 0)
                                                FROM ojs_lane AS l WHERE l.id = u.lane LIMIT 1)
                                        ELSE 0 END
                      AND ojs_fresh(z.expires_at, p_now)
                    ORDER BY z.lane_id, z.seq LIMIT v_deep) AS h ON true
        ), bound AS MATERIALIZED (
            SELECT min(b.seq) FILTER (WHERE b.n = v_deep) AS cut,
                   array_agg(b.lane) FILTER (WHERE b.seq IS NULL) AS empty
              FROM near AS b
        ), held AS (
            SELECT z.lane_id FROM near AS b JOIN ojs_ready AS z ON z.ctid = b.place
             WHERE b.seq <= least('Infinity', v_next, (SELECT cut FROM bound))
             ORDER BY b.seq LIMIT p_quota FOR UPDATE OF z SKIP LOCKED
        ), counted AS (
            SELECT h.lane_id, count(*)::int AS jobs FROM held AS h GROUP BY h.lane_id
        )
        SELECT (SELECT array_agg(c.lane_id) FROM counted AS c),
               (SELECT array_agg(c.jobs) FROM counted AS c), b.empty, b.cut
          INTO lanes, takes, empty, v_cut
          FROM bound AS b;
        EXIT WHEN lanes IS NOT NULL OR v_next IS NULL AND v_cut IS NULL;
        v_lanes := v_lanes * 4;
        v_deep := v_deep * 4;
        behind := v_ids;
    END LOOP;
    empty := coalesce(empty, '{}');
END $$
