-- ojs_hand_out: hand out jobs of the picks. It moves them from `ojs_ready` to `ojs_lease`, records
-- their limits, starts and events, and charges the lanes. Returns the jobs in the order of `tag`:
-- the virtual time of the lane after the job or, in an ordered queue, the job's `seq`.
--
-- At position 0 each pick is a locked job, and `planned` does not matter. Any other pick gives the
-- first jobs of its lane that no other transaction has locked. Their number is at most
-- `locked_jobs`, or `planned` if the claim has not locked the jobs yet.
--
-- With `charges_lanes`, the claim charges the lanes that it has locked. With `records_debts`, it
-- records a debt for each other lane. A single lane of a queue needs neither: its virtual time
-- decides nothing.
-- Locks: the jobs (SKIP LOCKED).
CREATE OR REPLACE FUNCTION ojs_hand_out(request ojs_request, claim ojs_claim_state)
RETURNS SETOF ojs_claimed LANGUAGE plpgsql AS $$
DECLARE
    v_planned int[] := coalesce(claim.locked_jobs, claim.planned);
BEGIN
    RETURN QUERY
    WITH picked AS MATERIALIZED (
        SELECT u.lane, u.tenant, u.weight, u.lane_ctid, u.vt, w.limits, hh.job_ctid,
               CASE WHEN claim.is_ordered THEN hh.seq
                    ELSE u.vt + row_number() OVER (PARTITION BY u.lane ORDER BY hh.seq) / u.weight
                     END AS tag,
               u.ordinality AS pick, coalesce(u.rank, claim.rank) AS rank
          FROM unnest(claim.picks) WITH ORDINALITY AS u
         CROSS JOIN LATERAL (
               SELECT CASE WHEN u.is_limited THEN
                               (SELECT l.limits || claim.queue_limits FROM ojs_lane AS l
                                 WHERE l.ctid = u.lane_ctid)
                           ELSE claim.queue_limits END AS limits) AS w
         CROSS JOIN LATERAL (
               SELECT u.job_ctid, u.ordinality AS seq WHERE claim.position = 0
                UNION ALL
               SELECT locked.job_ctid, locked.seq
                 FROM (SELECT z.ctid AS job_ctid, z.seq FROM ojs_ready AS z
                        WHERE claim.position > 0 AND z.lane_id = u.lane
                          AND z.seq >= CASE WHEN NOT claim.is_hinted OR u.low IS NULL THEN 0
                                            WHEN claim.is_ordered THEN u.low - 128
                                            ELSE greatest(u.low, request.low_seqs[array_position(
                                                 request.low_lanes, u.lane)]) - 128 END
                          AND ojs_claimable(z, claim.now)
                        ORDER BY z.lane_id, z.seq LIMIT v_planned[u.ordinality]
                          FOR UPDATE SKIP LOCKED) AS locked) AS hh
    ), taken AS (
        -- Find the rows by `ctid`: the claim has just locked them, and no plan can read other rows.
        DELETE FROM ojs_ready AS z USING picked AS h WHERE z.ctid = h.job_ctid
        RETURNING z.id, h.lane, h.tenant, h.weight, h.lane_ctid, h.vt, h.limits, z.seq, z.attempt,
                  z.enqueued_at, h.tag, h.pick, h.rank
    ), started AS MATERIALIZED (
        -- The join with ojs_job is the claim's only read of the wide row.
        SELECT d.id, d.lane, d.tenant, d.limits, d.seq, d.attempt + 1 AS attempt, d.enqueued_at,
               d.tag, d.pick, d.rank, d.vt, s.at, s.ms,
               s.at + s.ms * interval '1 millisecond' AS until,
               j.type, j.queue, j.priority, j.version, j.args::text AS args, j.meta::text AS meta,
               j.attributes::text AS attributes, j.max_attempts, j.timeout_ms, j.created_at,
               j.scheduled_at, j.expires_at, j.activated_at, j.error::text AS error,
               j.errors::text AS errors, j.retry_delay_ms, j.watched, j.bytes
          FROM taken AS d JOIN ojs_job AS j ON j.id = d.id
         CROSS JOIN LATERAL (
               SELECT greatest(claim.now, d.enqueued_at) AS at,
                      coalesce(request.lease_ms, j.visibility_ms, request.default_lease_ms) AS ms
               ) AS s
    ), leases AS (
        INSERT INTO ojs_lease (id, lane_id, seq, tenant, limits, watched, pool, worker_id, attempt,
                               enqueued_at, started_at, lease_ms, lease_until, timeout_at)
        SELECT b.id, b.lane, b.seq, b.tenant, b.limits, b.watched, request.pool, request.worker,
               b.attempt, b.enqueued_at, b.at, b.ms, b.until,
               b.at + b.timeout_ms * interval '1 millisecond'
          FROM started AS b
    ), holds AS (
        INSERT INTO ojs_hold (limit_id, job_id)
        SELECT x.id, b.id FROM started AS b CROSS JOIN LATERAL unnest(b.limits) AS x (id)
        RETURNING limit_id
    ), starts AS (
        INSERT INTO ojs_start AS t (limit_id, slot, at, jobs)
        SELECT k.limit_id, date_bin(m.slot_ms * interval '1 millisecond', claim.now, 'epoch'),
               claim.now, count(*)
          FROM holds AS k CROSS JOIN LATERAL (  -- without LIMIT, PostgreSQL joins the whole table
               SELECT l.slot_ms FROM ojs_limit AS l
                WHERE l.id = k.limit_id AND l.slot_ms IS NOT NULL LIMIT 1) AS m
         GROUP BY k.limit_id, m.slot_ms
        ON CONFLICT (limit_id, slot) DO UPDATE
           SET jobs = t.jobs + excluded.jobs, at = greatest(t.at, excluded.at)
    ), events AS (
        INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                               bytes, worker_id, pool, limits, took_ms)
        -- kind 3: started; from state 3, available, to 4, active
        SELECT b.at, 3, b.id, b.queue, b.type, b.tenant, 3, 4, b.attempt, -b.bytes, request.worker,
               request.pool, b.limits, (extract(epoch FROM b.at - b.enqueued_at) * 1000)::bigint
          FROM started AS b
    ), debts AS (
        -- The claim has not locked these lanes, so it cannot charge them. The next claim that locks
        -- them adds the debts.
        INSERT INTO ojs_debt (lane_id, cost)
        SELECT d.lane, count(*) / d.weight FROM taken AS d
         WHERE claim.records_debts AND d.lane_ctid IS NULL GROUP BY d.lane, d.pick, d.weight
    ), charges AS (
        UPDATE ojs_lane AS l
           SET vt = CASE WHEN l.ordered THEN l.vt ELSE n.vt + n.jobs / l.weight END,
               paid = CASE WHEN claim.scope IS NULL THEN l.paid ELSE l.paid + n.jobs / l.weight END,
               low = CASE WHEN l.returned IS NULL THEN greatest(l.low, n.low) ELSE l.low END,
               -- The generated column `rank` depends on `boost`. If an UPDATE sets no column that
               -- `rank` depends on, PostgreSQL reads the definition of `rank` anew for each row (5
               -- percent of a claim).
               boost = l.boost
          FROM (SELECT count(d.seq) AS jobs, max(d.seq) AS low, d.lane_ctid, d.vt
                  FROM taken AS d WHERE claim.charges_lanes GROUP BY d.pick, d.lane_ctid, d.vt
                 UNION ALL
                SELECT 0, 0, t.lane_ctid, t.vt  -- A debt is charged even if the lane gave no job.
                  FROM unnest(claim.picks) WITH ORDINALITY AS t
                 WHERE claim.charges_lanes AND t.ordinality = ANY (claim.debt_picks)
                   AND t.ordinality <> ALL (ARRAY(SELECT d.pick FROM taken AS d))
               ) AS n
         WHERE l.ctid = n.lane_ctid
    )
    SELECT b.id, b.type, b.queue, b.tenant, b.lane, b.seq, b.priority, b.version, b.args, b.meta,
           b.attributes, b.max_attempts, b.timeout_ms, b.created_at, b.scheduled_at, b.expires_at,
           b.activated_at, b.attempt, b.enqueued_at, b.at, b.ms, b.until, b.error, b.errors,
           b.retry_delay_ms, b.watched, b.rank,
           -- At position 0 each queue has a single lane, which is its head.
           CASE claim.position WHEN 0 THEN b.vt ELSE claim.vt END, NULL::jsonb
      FROM started AS b
     ORDER BY b.tag, b.pick;
END $$
