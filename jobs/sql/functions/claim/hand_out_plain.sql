-- ojs_hand_out_plain: hand out jobs of the lane of a plain queue (see ojs_claim_queue), as many as
-- the claim needs. It does the same as ojs_hand_out without the statements for limits, debts and
-- charges: a statement that writes nothing still costs its preparation. So a change of the stored
-- rows or of the answer belongs in both; tests/jobs/sql/claim/test_plain.py compares them.
-- Locks: the jobs (SKIP LOCKED).
CREATE OR REPLACE FUNCTION ojs_hand_out_plain(request ojs_request, claim ojs_claim_state)
RETURNS SETOF ojs_claimed LANGUAGE plpgsql AS $$
DECLARE
    v_head ojs_first_lane := claim.first_lanes[1];
BEGIN
    RETURN QUERY
    WITH started AS (
        -- By `ctid`: the claim has just locked these rows, and no plan can read more rows than
        -- these. The join with ojs_job is the claim's only read of the wide row.
        DELETE FROM ojs_ready AS z USING ojs_job AS j
         WHERE z.ctid = ANY (ARRAY(
               SELECT y.ctid FROM ojs_ready AS y
                WHERE y.lane_id = v_head.lane AND ojs_claimable(y, claim.now)
                  AND y.seq >= CASE WHEN NOT claim.is_hinted THEN 0
                                    ELSE greatest(v_head.low, request.low_seqs[array_position(
                                         request.low_lanes, v_head.lane)]) - 128 END
                ORDER BY y.lane_id, y.seq LIMIT claim.need FOR UPDATE SKIP LOCKED))
           AND j.id = z.id
        RETURNING z.id, z.seq, z.attempt + 1 AS attempt, z.enqueued_at,
                  greatest(claim.now, z.enqueued_at) AS at,
                  coalesce(request.lease_ms, j.visibility_ms, request.default_lease_ms) AS ms,
                  j.type, j.queue, j.priority, j.version, j.args::text AS args,
                  j.meta::text AS meta, j.attributes::text AS attributes, j.max_attempts,
                  j.timeout_ms, j.created_at, j.scheduled_at, j.expires_at, j.activated_at,
                  j.error::text AS error, j.errors::text AS errors, j.retry_delay_ms, j.watched,
                  j.bytes
    ), leases AS (
        INSERT INTO ojs_lease (id, lane_id, seq, tenant, watched, pool, worker_id, attempt,
                               enqueued_at, started_at, lease_ms, lease_until, timeout_at)
        SELECT b.id, v_head.lane, b.seq, v_head.tenant, b.watched, request.pool, request.worker,
               b.attempt, b.enqueued_at, b.at, b.ms, b.at + b.ms * interval '1 millisecond',
               b.at + b.timeout_ms * interval '1 millisecond'
          FROM started AS b
    ), events AS (
        INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                               bytes, worker_id, pool, took_ms)
        -- kind 3: started; from state 3, available, to 4, active
        SELECT b.at, 3, b.id, b.queue, b.type, v_head.tenant, 3, 4, b.attempt, -b.bytes,
               request.worker, request.pool,
               (extract(epoch FROM b.at - b.enqueued_at) * 1000)::bigint
          FROM started AS b
    )
    SELECT b.id, b.type, b.queue, v_head.tenant, v_head.lane, b.seq, b.priority, b.version, b.args,
           b.meta, b.attributes, b.max_attempts, b.timeout_ms, b.created_at, b.scheduled_at,
           b.expires_at, b.activated_at, b.attempt, b.enqueued_at, b.at, b.ms,
           b.at + b.ms * interval '1 millisecond', b.error, b.errors, b.retry_delay_ms, b.watched,
           v_head.rank, v_head.vt, NULL::jsonb
      FROM started AS b
     ORDER BY b.seq;
END $$
