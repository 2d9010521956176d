-- ojs_in_order: find and lock the oldest waiting jobs of a queue and rank, of any tenant. Returns
-- their `lanes`, and in `takes` the number of jobs of each. It serves queues whose tenants are
-- served in order; ojs_hand_out takes the jobs.
--
-- The `vt` of an ordered lane is at most the `seq` of its first job, except for jobs that were
-- stored late. The function reads the lanes with the smallest `vt`. No other lane has a job with a
-- `seq` below the largest `vt` read. So the jobs found below this bound are the oldest. If there
-- are none, or other claims hold all of them, the function reads more lanes and more jobs of each.
--
-- Parameters (their names are of release 0.2.0, whose claim calls this function: see ADR 0026):
--   p_near      the lanes to choose from; null: the lanes of p_queue and p_rank from p_vt on.
--   p_barren    lanes that the claim skips: `exhausted`.
--   p_routes    the version keys; null: any.
--   p_lows      whether the `low` of a lane bounds its jobs.
--
-- `empty`: lanes in which it found no job, so they may retire. `behind`: lanes whose `vt` may be
-- much smaller than the `seq` of their first job. ojs_after_look raises this `vt`, so that the next
-- claim need not read as far.
-- Locks: the jobs (SKIP LOCKED), so that a concurrent claim takes the next oldest jobs.
CREATE OR REPLACE FUNCTION ojs_in_order(
    p_queue text, p_rank smallint, p_vt float8, p_near bigint[], p_barren bigint[], p_routes int[],
    p_quota int, p_lows boolean, p_now timestamptz,
    OUT lanes bigint[], OUT takes int[], OUT empty bigint[], OUT behind bigint[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_lanes int := p_quota + 8;  -- each lane may give one job; some may be empty
    -- jobs to read of each lane: at most about 256 of all lanes, but at least 4 of each
    v_deep int := greatest(4, least(p_quota, 256 / (p_quota + 8)));
    v_ids bigint[] := p_near;
    v_next float8;  -- the smallest `seq` that unread lanes may have; null: all lanes were read
    v_cut bigint;  -- up to this `seq`, all jobs of the read lanes were read; null: all jobs were
BEGIN
    -- Each pass reads four times as many lanes as the pass before it, and four times as many jobs
    -- of each lane.
    FOR look IN 1 .. 8 LOOP
        IF p_near IS NULL THEN
            SELECT array_agg(z.id), CASE WHEN count(*) > v_lanes THEN max(z.vt) END
              INTO v_ids, v_next
              FROM (SELECT l.id, l.vt FROM ojs_lane AS l
                     WHERE l.queue = p_queue AND ojs_offered(l.active, l.blocked_by, l.paused)
                       AND l.rank = p_rank AND l.vt >= p_vt
                       AND ojs_eligible(l, p_barren, NULL, p_routes)
                     ORDER BY l.queue, l.rank, l.vt LIMIT v_lanes + 1) AS z;
        END IF;
        WITH seen AS MATERIALIZED (
            SELECT u.lane, h.job_ctid, h.seq, row_number() OVER (PARTITION BY u.lane ORDER BY h.seq) AS n
              FROM unnest(v_ids) AS u (lane)
              LEFT JOIN LATERAL (
                   SELECT z.ctid AS job_ctid, z.seq FROM ojs_ready AS z
                    WHERE z.lane_id = u.lane
                      AND z.seq >= CASE WHEN p_lows
                                        THEN (SELECT coalesce(ojs_lowest(l.low, l.returned) - 128, 0)
                                                FROM ojs_lane AS l WHERE l.id = u.lane LIMIT 1)
                                        ELSE 0 END
                      AND ojs_claimable(z, p_now)
                    ORDER BY z.lane_id, z.seq LIMIT v_deep) AS h ON true
        ), bound AS MATERIALIZED (
            SELECT min(b.seq) FILTER (WHERE b.n = v_deep) AS cut,
                   array_agg(b.lane) FILTER (WHERE b.seq IS NULL) AS empty
              FROM seen AS b
        ), locked AS (
            SELECT z.lane_id FROM seen AS b JOIN ojs_ready AS z ON z.ctid = b.job_ctid
             WHERE b.seq <= least('Infinity', v_next, (SELECT cut FROM bound))
             ORDER BY b.seq LIMIT p_quota FOR UPDATE OF z SKIP LOCKED
        ), counted AS (
            SELECT h.lane_id, count(*)::int AS jobs FROM locked AS h GROUP BY h.lane_id
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
