-- ojs_pick_single_lanes: pick jobs of all queues that have a turn and a single lane without limits,
-- in one statement. It locks the jobs, so the claim hands out exactly the jobs of `planned_total`.
-- Each job is a pick of its own.
--
-- It leaves out these queues, which the other ojs_pick_* serve later:
-- - A queue that is paused or has a limit.
-- - A queue with a blocked lane whose limit has opened by itself.
-- - A queue whose lane has another rank than the rotation assumed.
-- - A queue whose lane is charged by run time (`timed`).
-- - A queue whose low-water mark does not hold: it has a lane of higher priority, or it is ordered
--   and has returned jobs.
-- Locks: the jobs (SKIP LOCKED).
CREATE OR REPLACE FUNCTION ojs_pick_single_lanes(
    request ojs_request, claim ojs_claim_state, rotation ojs_rotation
) RETURNS ojs_claim_state LANGUAGE plpgsql AS $$
BEGIN
    claim.position := 0;
    claim.scope := NULL;
    claim.queue_limits := NULL;
    claim.must_look_again := false;
    claim.has_other_rank := false;
    claim.is_ordered := false;
    claim.charges_lanes := false;
    claim.has_limited := false;
    claim.records_debts := false;
    claim.debt_picks := NULL;
    claim.locked_jobs := NULL;
    SELECT array_agg(ROW(a.id, a.tenant, false, a.vt, a.weight, a.low, NULL, a.rank, h.job_ctid,
                         x.i)::ojs_pick),
           array_agg(a.id), array_agg(1), count(*), coalesce(bool_or(a.low IS NULL), false)
      INTO claim.picks, claim.lanes, claim.planned, claim.planned_total, claim.has_returned
      FROM unnest(request.queues, rotation.wants) WITH ORDINALITY AS x (queue, want, i)
      JOIN ojs_queue AS u ON u.name = x.queue AND u.paused_at IS NULL AND u.limit_id IS NULL
     CROSS JOIN LATERAL (
           SELECT count(*) AS lanes, min(z.id) AS id, min(z.tenant) AS tenant, min(z.vt) AS vt,
                  min(z.weight) AS weight, min(z.rank) AS rank,
                  bool_or(z.limits IS NOT NULL OR z.timed) AS limited,
                  min(z.low) AS low, bool_or(z.ordered) AS ordered
             FROM (SELECT l.id, l.tenant, l.vt, l.weight, l.rank, l.limits,
                          ojs_lowest(l.low, l.returned) AS low, l.timed, l.ordered
                     FROM ojs_lane AS l
                    WHERE l.queue = x.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
                      AND (l.rank, l.vt) >= (coalesce(request.low_ranks[x.i], -32768),
                                             coalesce(request.low_vts[x.i], '-Infinity'))
                      AND ojs_eligible(l, claim.exhausted, NULL, request.version_keys)
                    ORDER BY l.queue, l.rank, l.vt LIMIT 2) AS z) AS a
     CROSS JOIN LATERAL (
           SELECT z.ctid AS job_ctid
             FROM ojs_ready AS z
            WHERE z.lane_id = a.id
              AND z.seq >= CASE WHEN request.low_ranks[x.i] IS NULL OR a.low IS NULL THEN 0
                           ELSE greatest(a.low, request.low_seqs[array_position(
                                request.low_lanes, a.id)]) - 128 END
              AND ojs_claimable(z, claim.now)
            ORDER BY z.lane_id, z.seq LIMIT x.want
              FOR UPDATE SKIP LOCKED) AS h
     WHERE x.want > 0 AND a.lanes = 1 AND NOT a.limited
       AND (rotation.levels IS NULL OR a.rank = rotation.level_ranks[rotation.levels[x.i]])
       AND (SELECT true FROM ojs_lane AS l
             WHERE l.queue = x.queue AND l.rank < request.low_ranks[x.i]
               AND ojs_offered(l.active, l.blocked_by, l.paused)
             ORDER BY l.queue, l.rank, l.vt LIMIT 1) IS NULL
       AND (SELECT true FROM ojs_lane AS l
             WHERE l.queue = x.queue AND l.blocked_until <= claim.now
             ORDER BY l.queue, l.blocked_until LIMIT 1) IS NULL
       AND CASE WHEN a.ordered AND request.low_ranks[x.i] IS NOT NULL THEN
           (SELECT true FROM ojs_lane AS l
             WHERE l.queue = x.queue AND l.ordered AND l.returned IS NOT NULL
               AND ojs_offered(l.active, l.blocked_by, l.paused)
             ORDER BY l.queue LIMIT 1) END IS NULL;
    claim.is_done := claim.planned_total = 0;
    RETURN claim;
END $$
