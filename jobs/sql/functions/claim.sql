-- ojs_claim: hand out up to p_limit available jobs, in one round trip.
--
-- What it respects: the worker's standing, pauses, pool and tenant caps, queue order and quotas,
-- strict priority inside a queue, weighted virtual time between the lanes of one priority, routes,
-- expiry; and that a job is handed out once.
--
-- Parameters: p_queues in turn order, p_quotas the most jobs to take at each position (null: no
-- bound); p_tenant and p_routes narrow the lanes (null: any), and a tenant's lanes are found by
-- their key, since thousands may lie before them in the order; p_low_* are hints where live entries
-- begin (per position of p_queues: rank and virtual time; per lane: seq). A hint only saves the
-- walk over dead index entries; whoever passes one repeats the call without it once a second.
--
-- Locks, in this order: the pool (exclusive, waits while nothing else is held), lanes (SKIP LOCKED;
-- a capped lane alone is waited for while no other can be held), tenants (exclusive, tried),
-- ready rows (SKIP LOCKED), stripes of emptied lanes (exclusive, tried). Nothing held is waited
-- behind, so no deadlock can pass through here.
--
-- Returns the claimed jobs in turn order. A last row with a null id may carry signals: directive
-- (the worker must not fetch) or due (waiting jobs have become due: promote and call again).
--
-- The planner settings at the end are part of the design: the statistics of queue tables are
-- always wrong, and a generic plan does not know LIMIT. tests/jobs/sql holds the plans.
CREATE OR REPLACE FUNCTION ojs_claim(
    p_queues text[], p_quotas int[], p_limit int,
    p_worker text, p_lease_ms bigint, p_default_lease_ms bigint,
    p_tenant text, p_routes int[], p_pool text, p_pool_cap int,
    p_low_ranks smallint[], p_low_vts float8[], p_low_lanes bigint[], p_low_seqs bigint[]
) RETURNS TABLE (
    id uuid, type text, queue text, tenant text, lane_id bigint, seq bigint, priority smallint,
    version text, args text, meta text, attributes text, max_attempts int, timeout_ms bigint,
    created_at timestamptz, scheduled_at timestamptz, expires_at timestamptz,
    activated_at timestamptz, attempt int, enqueued_at timestamptz, started_at timestamptz,
    lease_ms bigint, lease_until timestamptz, error text, errors text, retry_delay_ms bigint,
    watched boolean, head_rank smallint, head_vt float8, directive smallint, due boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_need int := p_limit;
    v_quota int;
    v_standing smallint;
    v_paused boolean;
    v_hinted boolean;
    v_from_rank smallint;
    v_from_vt float8;
    v_rank smallint;
    v_vt float8;
    v_upto float8;
    v_lanes int;
    v_locked boolean;
    v_held boolean := false;  -- a lane may be locked, also one that was passed by
    v_own bigint[];  -- the lanes of p_tenant in the queue
    v_near bigint[];  -- lanes at the head's priority, by vt
    v_barren bigint[];  -- lanes whose jobs were all expired or in the hands of others
    v_capped boolean;
    v_ids bigint[];
    v_places tid[];  -- where their rows are, once locked: the index may hold many dead entries
    v_place tid;
    v_tenants text[];
    v_caps int[];
    v_vts float8[];
    v_weights float8[];
    v_takes int[];
    v_want int;
    v_got int;
    v_free int;
    q text;
    r record;
BEGIN
    IF p_worker IS NOT NULL THEN
        SELECT greatest(w.directive, w.reported) INTO v_standing
          FROM ojs_worker AS w WHERE w.id = p_worker;
        IF NOT FOUND THEN
            INSERT INTO ojs_worker (id, pool) VALUES (p_worker, p_pool) ON CONFLICT DO NOTHING;
        ELSIF v_standing > 0 THEN
            directive := v_standing;
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;

    -- Counted under the lock, not before it: two fetches may both see room.
    IF p_pool_cap IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(20266601, hashtext(p_pool));
        SELECT least(v_need, p_pool_cap - count(*)) INTO v_need
          FROM ojs_lease AS x WHERE x.pool = p_pool;
    END IF;

    FOR i IN 1 .. cardinality(p_queues) LOOP
        EXIT WHEN v_need <= 0;
        q := p_queues[i];
        v_quota := least(v_need, coalesce(p_quotas[i], v_need));
        SELECT u.paused_at IS NOT NULL INTO v_paused FROM ojs_queue AS u WHERE u.name = q;
        CONTINUE WHEN NOT FOUND OR v_paused;

        IF p_tenant IS NOT NULL THEN
            SELECT array_agg(l.id) INTO v_own FROM ojs_lane AS l
             WHERE l.tenant = p_tenant AND l.queue = q
               AND (p_routes IS NULL OR l.route = ANY (p_routes));
        END IF;

        v_barren := '{}';
        v_from_rank := -32768;
        v_from_vt := '-Infinity';
        v_hinted := p_low_ranks[i] IS NOT NULL;
        IF v_hinted THEN
            -- a lane of higher priority may have woken since the hint was taken
            PERFORM 1 FROM ojs_lane AS l
              WHERE l.queue = q AND l.active AND NOT l.blocked AND NOT l.paused
                AND l.rank < p_low_ranks[i]
              ORDER BY l.queue, l.rank, l.vt LIMIT 1;
            v_hinted := NOT FOUND;
            IF v_hinted THEN
                v_from_rank := p_low_ranks[i];
                v_from_vt := p_low_vts[i];
            END IF;
        END IF;

        FOR pass IN 1 .. 64 LOOP
            EXIT WHEN v_quota <= 0;
            -- The head decides the priority; one lane alone needs no bookkeeping between lanes.
            IF p_tenant IS NULL THEN
                SELECT count(*), (array_agg(z.rank))[1], (array_agg(z.vt))[1], array_agg(z.id)
                  INTO v_lanes, v_rank, v_vt, v_near
                  FROM (SELECT l.id, l.rank, l.vt FROM ojs_lane AS l
                         WHERE l.queue = q AND l.active AND NOT l.blocked AND NOT l.paused
                           AND (l.rank, l.vt) >= (v_from_rank, v_from_vt)
                           AND l.id <> ALL (v_barren)
                           AND (p_routes IS NULL OR l.route = ANY (p_routes))
                         ORDER BY l.queue, l.rank, l.vt LIMIT 2) AS z;
            ELSE
                SELECT count(*), min(z.rank), min(z.vt), array_agg(z.id)
                  INTO v_lanes, v_rank, v_vt, v_near
                  FROM (SELECT l.id, l.rank, l.vt, min(l.rank) OVER () AS head FROM ojs_lane AS l
                         WHERE l.id = ANY (v_own) AND l.active AND NOT l.blocked AND NOT l.paused
                           AND l.id <> ALL (v_barren)) AS z
                 WHERE z.rank = z.head;
            END IF;
            IF v_lanes = 0 THEN
                EXIT WHEN NOT v_hinted;
                v_hinted := false;
                v_from_rank := -32768;
                v_from_vt := '-Infinity';
                CONTINUE;
            END IF;

            v_locked := false;
            IF v_lanes > 1 OR v_held THEN
                -- Even if none comes back: a lane whose facts have changed meanwhile stays locked.
                v_held := true;
                IF p_tenant IS NOT NULL THEN
                    SELECT array_agg(s.id), array_agg(s.tenant), array_agg(s.cap), array_agg(s.vt),
                           array_agg(s.weight), array_agg(s.place), count(*), count(s.cap) > 0
                      INTO v_ids, v_tenants, v_caps, v_vts, v_weights, v_places, v_lanes, v_capped
                      FROM (SELECT l.id, l.tenant, l.cap, l.vt, l.weight, l.ctid AS place
                              FROM ojs_lane AS l
                             WHERE l.id = ANY (v_near)
                               AND l.active AND NOT l.blocked AND NOT l.paused
                             ORDER BY l.vt LIMIT v_quota FOR NO KEY UPDATE SKIP LOCKED) AS s;
                ELSE
                    -- The window keeps a fetcher from serving a lane far ahead of the head just
                    -- because others hold the lanes before it.
                    SELECT array_agg(s.id), array_agg(s.tenant), array_agg(s.cap), array_agg(s.vt),
                           array_agg(s.weight), array_agg(s.place), count(*), count(s.cap) > 0
                      INTO v_ids, v_tenants, v_caps, v_vts, v_weights, v_places, v_lanes, v_capped
                      FROM (SELECT l.id, l.tenant, l.cap, l.vt, l.weight, l.ctid AS place
                              FROM ojs_lane AS l
                             WHERE l.queue = q AND l.active AND NOT l.blocked AND NOT l.paused
                               AND l.rank = v_rank AND l.vt >= v_vt AND l.vt <= v_vt + v_quota + 1
                               AND l.vt <= v_vt + (v_quota + 1) / l.weight
                               AND l.id <> ALL (v_barren)
                               AND (p_routes IS NULL OR l.route = ANY (p_routes))
                             ORDER BY l.queue, l.rank, l.vt LIMIT v_quota
                               FOR NO KEY UPDATE SKIP LOCKED) AS s;
                END IF;
                v_locked := v_lanes > 0;
                IF NOT v_locked AND p_tenant IS NULL THEN
                    SELECT array_agg(c.id) INTO v_near
                      FROM (SELECT l.id FROM ojs_lane AS l
                             WHERE l.queue = q AND l.active AND NOT l.blocked AND NOT l.paused
                               AND l.rank = v_rank AND l.vt >= v_vt
                               AND l.id <> ALL (v_barren)
                               AND (p_routes IS NULL OR l.route = ANY (p_routes))
                             ORDER BY l.queue, l.rank, l.vt LIMIT 32) AS c;
                END IF;
            END IF;
            IF NOT v_locked THEN
                -- A lane alone, or all of them held by other fetchers: take heads under row locks
                -- only, lanes drawn by weight. Only at the head's priority, and only lanes without
                -- a cap: a cap cannot be counted without its lock.
                SELECT array_agg(s.id), array_agg(s.tenant), array_agg(NULL::int), array_agg(s.vt),
                       array_agg(s.weight), count(*), false
                  INTO v_ids, v_tenants, v_caps, v_vts, v_weights, v_lanes, v_capped
                  FROM (SELECT l.id, l.tenant, l.vt, l.weight FROM ojs_lane AS l
                         WHERE l.id = ANY (v_near) AND l.active AND NOT l.blocked AND NOT l.paused
                           AND l.cap IS NULL
                         ORDER BY -ln(1 - random()) / l.weight LIMIT v_quota) AS s;
                IF v_lanes = 0 THEN
                    -- A capped lane alone: wait for it, unless one may be held already (two
                    -- fetchers could then wait for each other); those try again a few times.
                    EXIT WHEN v_held AND pass >= 4;
                    CONTINUE WHEN v_held;
                    SELECT array_agg(s.id), array_agg(s.tenant), array_agg(s.cap), array_agg(s.vt),
                           array_agg(s.weight), array_agg(s.place), count(*), count(s.cap) > 0
                      INTO v_ids, v_tenants, v_caps, v_vts, v_weights, v_places, v_lanes, v_capped
                      FROM (SELECT l.id, l.tenant, l.cap, l.vt, l.weight, l.ctid AS place
                              FROM ojs_lane AS l
                             WHERE l.id = v_near[1]
                               AND l.active AND NOT l.blocked AND NOT l.paused
                               FOR NO KEY UPDATE) AS s;
                    v_locked := true;
                    v_held := true;
                    CONTINUE WHEN v_lanes = 0;
                END IF;
            END IF;

            -- How many from each: the v_quota smallest tags vt + g/weight (start-time fairness).
            IF v_lanes = 1 THEN
                v_takes := ARRAY[v_quota];
            ELSIF v_quota = 1 THEN
                v_takes := array_fill(0, ARRAY[v_lanes]);
                v_takes[1] := 1;
            ELSE
                -- Enough of them lie below the tag that every lane reaches with an equal share.
                SELECT max(t.vt + ceil(v_quota::float8 / v_lanes) / t.w) INTO v_upto
                  FROM unnest(v_vts, v_weights) AS t (vt, w);
                SELECT array_agg(x.n ORDER BY x.i) INTO v_takes
                  FROM (SELECT y.i, sum(y.one)::int AS n
                          FROM (SELECT i, 0 AS one FROM generate_series(1, v_lanes) AS i
                                UNION ALL
                                (SELECT t.i, 1
                                   FROM unnest(v_vts, v_weights) WITH ORDINALITY AS t (vt, w, i)
                                  CROSS JOIN LATERAL generate_series(
                                        1, least(v_quota, (v_upto - t.vt) * t.w + 1)::int) AS g
                                  ORDER BY t.vt + g / t.w, t.i LIMIT v_quota)) AS y
                         GROUP BY y.i) AS x;
            END IF;

            IF v_capped THEN
                FOR k IN 1 .. v_lanes LOOP
                    CONTINUE WHEN v_caps[k] IS NULL OR v_takes[k] = 0;
                    IF pg_try_advisory_xact_lock(20266602, hashtext(v_tenants[k])) THEN
                        SELECT v_caps[k] - count(*) INTO v_free
                          FROM ojs_lease AS x WHERE x.tenant = v_tenants[k] AND x.capped;
                        FOR j IN 1 .. k - 1 LOOP
                            IF v_tenants[j] = v_tenants[k] THEN
                                v_free := v_free - v_takes[j];
                            END IF;
                        END LOOP;
                        IF v_free <= 0 THEN
                            UPDATE ojs_lane AS l SET blocked = true WHERE l.ctid = v_places[k]
                            RETURNING l.ctid INTO v_place;
                            v_places[k] := v_place;
                        END IF;
                        v_takes[k] := greatest(0, least(v_takes[k], v_free));
                    ELSE
                        v_takes[k] := 0;
                    END IF;
                END LOOP;
            END IF;

            SELECT sum(t) INTO v_want FROM unnest(v_takes) AS t;
            v_got := 0;
            IF v_want > 0 THEN
                RETURN QUERY
                WITH h AS MATERIALIZED (
                    SELECT w.lane, w.tenant, w.capped, hh.place, hh.seq, hh.attempt, hh.enqueued_at,
                           w.vt + row_number() OVER (PARTITION BY w.lane ORDER BY hh.seq) / w.weight
                               AS tag, w.position
                      FROM unnest(v_ids, v_takes, v_tenants, v_caps, v_vts, v_weights)
                           WITH ORDINALITY AS u (lane, n, tenant, cap, vt, weight, position)
                      LEFT JOIN unnest(p_low_lanes, p_low_seqs) AS lo (lane, seq)
                             ON v_hinted AND lo.lane = u.lane
                     CROSS JOIN LATERAL (SELECT u.lane, u.tenant, u.cap IS NOT NULL AS capped,
                                                u.vt, u.weight, u.position) AS w
                     CROSS JOIN LATERAL (
                           SELECT z.ctid AS place, z.seq, z.attempt, z.enqueued_at
                             FROM ojs_ready AS z
                            WHERE z.lane_id = u.lane AND z.seq >= coalesce(lo.seq, 0)
                              AND (z.expires_at IS NULL OR z.expires_at > v_now)
                            ORDER BY z.lane_id, z.seq LIMIT u.n
                              FOR UPDATE SKIP LOCKED) AS hh
                ), d AS (
                    -- by place: h has just locked these rows, and no plan can read others
                    DELETE FROM ojs_ready AS z USING h WHERE z.ctid = h.place
                    RETURNING z.id, h.lane, h.tenant, h.capped, h.seq, h.attempt, h.enqueued_at,
                              h.tag, h.position
                ), b AS MATERIALIZED (
                    -- the one look at the wide row
                    SELECT d.id, d.lane, d.tenant, d.capped, d.seq, d.attempt + 1 AS attempt,
                           d.enqueued_at, d.tag, d.position, s.at, s.ms,
                           s.at + s.ms * interval '1 millisecond' AS until,
                           j.type, j.queue, j.priority, j.version, j.args::text AS args,
                           j.meta::text AS meta, j.attributes::text AS attributes, j.max_attempts,
                           j.timeout_ms, j.created_at, j.scheduled_at, j.expires_at,
                           j.activated_at, j.error::text AS error, j.errors::text AS errors,
                           j.retry_delay_ms, j.watched
                      FROM d JOIN ojs_job AS j ON j.id = d.id
                     CROSS JOIN LATERAL (
                           SELECT greatest(v_now, d.enqueued_at) AS at,
                                  coalesce(p_lease_ms, j.visibility_ms, p_default_lease_ms) AS ms
                           ) AS s
                ), a AS (
                    INSERT INTO ojs_lease (id, lane_id, tenant, capped, watched, pool, worker_id,
                                           attempt, enqueued_at, started_at, lease_ms, lease_until,
                                           timeout_at)
                    SELECT b.id, b.lane, b.tenant, b.capped, b.watched, p_pool, p_worker,
                           b.attempt, b.enqueued_at, b.at, b.ms, b.until,
                           b.at + b.timeout_ms * interval '1 millisecond'
                      FROM b
                ), e AS (
                    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state,
                                           to_state, attempt, worker_id, took_ms)
                    SELECT b.at, 3, b.id, b.queue, b.type, b.tenant, 3, 4, b.attempt, p_worker,
                           (extract(epoch FROM b.at - b.enqueued_at) * 1000)::bigint
                      FROM b
                ), u AS (
                    UPDATE ojs_lane AS l SET vt = l.vt + n.jobs / l.weight
                      FROM (SELECT count(*) AS jobs, v_places[d.position] AS place
                              FROM d WHERE v_locked GROUP BY d.position) AS n
                     WHERE l.ctid = n.place
                )
                SELECT b.id, b.type, b.queue, b.tenant, b.lane, b.seq, b.priority, b.version,
                       b.args, b.meta, b.attributes, b.max_attempts, b.timeout_ms, b.created_at,
                       b.scheduled_at, b.expires_at, b.activated_at, b.attempt, b.enqueued_at,
                       b.at, b.ms, b.until, b.error, b.errors, b.retry_delay_ms, b.watched,
                       v_rank, v_vt, NULL::smallint, NULL::boolean
                  FROM b
                 ORDER BY b.tag, b.position;
                GET DIAGNOSTICS v_got = ROW_COUNT;
            END IF;

            IF v_got < v_want THEN
                -- Some lane held fewer jobs than asked for. One that is empty leaves the index,
                -- but only if no producer is at work on it: see ojs_wake.
                FOR r IN SELECT u.lane FROM unnest(v_ids, v_takes) AS u (lane, n)
                          WHERE u.n > 0
                            AND NOT EXISTS (SELECT 1 FROM ojs_ready AS z WHERE z.lane_id = u.lane)
                LOOP
                    IF pg_try_advisory_xact_lock(20266603, (r.lane % 128)::int)
                       AND NOT EXISTS (SELECT 1 FROM ojs_ready AS z WHERE z.lane_id = r.lane)
                    THEN
                        UPDATE ojs_lane AS l SET active = false
                          FROM (SELECT m.id FROM ojs_lane AS m WHERE m.id = r.lane AND m.active
                                   FOR NO KEY UPDATE SKIP LOCKED) AS s
                         WHERE l.id = s.id AND l.id = r.lane;
                        v_held := true;
                    END IF;
                END LOOP;
            END IF;

            v_need := v_need - v_got;
            v_quota := v_quota - v_got;
            IF v_got < v_want AND v_hinted THEN
                v_hinted := false;  -- jobs may lie below the hint: look again without it
                v_from_rank := -32768;
                v_from_vt := '-Infinity';
            ELSIF v_got = 0 AND v_want > 0 THEN
                -- Look behind them. What they hold is over or taken, it holds nobody else back.
                v_barren := v_barren
                    || (SELECT array_agg(u.lane) FROM unnest(v_ids, v_takes) AS u (lane, n)
                         WHERE u.n > 0);
            ELSIF v_got = 0 AND pass >= 4 THEN
                EXIT;
            END IF;
        END LOOP;
    END LOOP;

    IF v_need > 0 AND EXISTS (SELECT 1 FROM ojs_later AS x WHERE x.due_at <= v_now) THEN
        id := NULL;
        due := true;
        RETURN NEXT;
    END IF;
END $$
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_mergejoin = off
SET enable_hashjoin = off
SET jit = off
