-- ojs_claim: hand out up to p_limit available jobs, in one round trip.
--
-- What it respects: the worker's standing and pool, pauses, the pool's cap, limits of queues,
-- tenants and jobs' keys, turns of the queues, strict priority inside a queue, weighted virtual time
-- between the lanes of one priority, or the order of their jobs (`ordered`), routes, expiry; and that a
-- job is handed out once.
--
-- Parameters: p_queues in order; p_tenant and p_routes narrow the lanes (null: any), and a tenant's
-- lanes are found by their key, since thousands may lie before them in the order; p_low_* are hints
-- where live entries begin (per position of p_queues: rank and virtual time; per lane: seq). Where
-- there is a hint, the lanes' own `low` bounds their jobs too; 128 numbers below each bound are
-- looked at, since writers overtake each other. A hint only saves the walk over dead index entries;
-- whoever passes one repeats the call without it once a second.
-- p_turns names what the queues take turns in (null: they come in their order, each until it is
-- empty), with the strategy and prevention of ojs_turns; p_weights are by position of p_queues, and
-- p_rotation_ms is how long a queue may wait for a turn. With p_is_global a turn goes to queues whose
-- best job has the highest priority of all, unless one is owed. p_bound is the pool the caller takes
-- the worker to be in, p_binds whether the worker said so itself; p_declared what it is taken to have
-- declared that it handles (null: the request says so itself), p_refuses whether p_routes leaves out
-- routes that there are; p_prefetches: it holds more jobs
-- than it runs, and keeps count of them itself; p_terms the version of the terms that all this
-- follows from (null: none). p_awaits is what a claim before this one said that it `awaits`; p_caller
-- the tenant that the caller is bound to (null: none), whose a worker is that it is the first to name.
-- p_scopes has by position of p_queues over what tenants share beyond the queue (null: over nothing,
-- and as a whole: nowhere); see ADR 0018. The claim is a sign of life of its worker, and is noted where
-- the last one is older than p_heard_ms: see ojs_heard.
--
-- Hints do not bound a lane whose jobs came back (`returned`). The claim that takes the last of these
-- jobs clears the mark.
--
-- Locks, in this order: the worker (waited for, only while it is put into a pool or where its load
-- decides; tried, to note a sign of life), the pool or what else takes turns (exclusive; waited for),
-- scopes (exclusive, in order; waited for), what p_awaits names (waited for; nothing else is from then
-- on), a queue's limit
-- (exclusive; waited for while nothing but the pool is held, else tried), lanes (SKIP LOCKED; a
-- limited lane alone is waited for while no other can be held), limits of lanes (exclusive, tried),
-- ready rows (SKIP LOCKED), stripes of emptied lanes (exclusive, tried). Where tenants are served in
-- order the jobs come before their lanes, as for everybody else. Nothing else that is held is waited
-- behind, so no deadlock can pass through here.
--
-- Returns the claimed jobs, those of one queue in turn order. A last row with a null id may carry
-- signals: directive (the worker must not fetch), stale (the terms are others now), bound (the
-- worker is in another pool, or '' in none), declared (it has declared something else), taken (the
-- worker is of another tenant than the caller), due (waiting
-- jobs have become due: promote and call again), opens_ms (in how many ms a limit that held jobs
-- back opens by itself), crowded (lanes whose jobs a limit holds back though they shall not wait, and
-- how many of each: see on_limit in domain/limits.py), turns (the position of the queue that each
-- job is of, in turn order), awaits (jobs may be there that the lock of a limit hid, or, if negative,
-- of a lane: repeat with this).
--
-- The planner settings at the end are part of the design: the statistics of queue tables are
-- always wrong, and a generic plan does not know LIMIT. tests/jobs/sql holds the plans.
CREATE OR REPLACE FUNCTION ojs_claim(
    p_queues text[], p_limit int,
    p_worker text, p_lease_ms bigint, p_default_lease_ms bigint,
    p_tenant text, p_routes int[], p_pool text, p_pool_cap int, p_bound text, p_binds boolean,
    p_prefetches boolean, p_terms bigint, p_awaits bigint, p_turns text, p_strategy smallint,
    p_weights float8[], p_ratio float8, p_rotation_ms bigint, p_is_global boolean,
    p_low_ranks smallint[], p_low_vts float8[], p_low_lanes bigint[], p_low_seqs bigint[],
    p_declared bigint, p_refuses boolean, p_caller text, p_scopes text[],
    p_heard_ms bigint DEFAULT NULL
) RETURNS TABLE (
    id uuid, type text, queue text, tenant text, lane_id bigint, seq bigint, priority smallint,
    version text, args text, meta text, attributes text, max_attempts int, timeout_ms bigint,
    created_at timestamptz, scheduled_at timestamptz, expires_at timestamptz,
    activated_at timestamptz, attempt int, enqueued_at timestamptz, started_at timestamptz,
    lease_ms bigint, lease_until timestamptz, error text, errors text, retry_delay_ms bigint,
    watched boolean, head_rank smallint, head_vt float8, directive smallint, due boolean,
    opens_ms bigint, crowded jsonb, stale boolean, bound text, turns int[], awaits bigint,
    declared bigint, taken boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz := clock_timestamp();
    v_need int := p_limit;
    v_quota int;
    v_standing smallint;
    v_bound text;
    v_owner text;
    v_heard timestamptz;
    v_declared bigint;
    v_slots int;
    v_takes_turns boolean := p_turns IS NOT NULL AND cardinality(p_queues) > 1;
    v_keeps boolean := false;  -- the turns leave a trace for the next claim
    v_turn ojs_turn;
    v_is_open boolean[];  -- has a lane with jobs, as far as a glance tells
    v_keys float8[];
    v_overdue boolean[];
    v_since bigint[];
    v_stock int[];  -- how many jobs a queue has turned out to have; null: enough so far
    v_taken int[];
    v_wants int[];
    v_order int[] := '{}';
    v_visited boolean;
    v_levels int[];  -- by queue: the index of its latest level; null: priorities do not compete
    v_level_queues int[];  -- levels: of this queue, so many jobs lie before the end of jobs of this
    v_level_ends int[];  -- rank; null: no end is known
    v_level_ranks smallint[];
    v_moved boolean := false;
    v_first int := 1;
    v_spots bigint[];
    v_ranks smallint[];
    v_before int;
    v_last int;
    v_paused boolean;
    v_hinted boolean;
    v_from_rank smallint;
    v_from_vt float8;
    v_rank smallint;
    v_vt float8;
    v_upto float8;
    v_lanes int;
    v_alone boolean;  -- no other lane of its priority is known to have jobs
    v_locked boolean;
    v_rest bigint[];  -- lanes beside those locked that others hold
    v_level float8;
    v_paid int[];  -- positions of lanes that were owed something
    v_owes boolean;  -- jobs are taken of lanes that others hold: what they cost is noted beside them
    v_held boolean := false;  -- a lane or a limit may be locked, also one that was passed by
    v_opens timestamptz;  -- the earliest of limits that opens by itself
    v_crowded jsonb;
    v_queue_limit bigint;
    v_queue_limits bigint[];
    v_limits bigint[];
    v_limit bigint;
    v_seen bigint[];  -- limits locked in this pass, and those that another claim is at work on
    v_rooms int[];  -- what they have left; null: any number, -1: another is at work, -2: reached
    v_at int;
    v_times timestamptz[];
    v_closed bigint;
    v_until timestamptz;
    v_own bigint[];  -- the lanes of p_tenant in the queue
    v_home text;  -- where they are: see models.Lane
    v_homes text[] := p_queues;
    v_near bigint[];  -- lanes at the head's priority, by vt
    v_head bigint;  -- the first of them: what lies before it in the index is dead
    v_barren bigint[] := '{}';  -- lanes whose jobs were all expired or in the hands of others
    v_full bigint[];  -- limits that are reached
    v_full_until timestamptz;  -- when the last of them opens by itself
    v_shut bigint[];  -- these, and limits that another claim is at work on
    v_busy_rank smallint;  -- the priority of lanes that others are at work on
    v_awaits bigint;
    v_capped boolean;
    v_scope text;  -- over what tenants share beyond the queue
    v_ordered boolean;  -- jobs go by their `seq`, whosever they are
    v_gives int[];
    v_asks int[];  -- of which v_gives are there, of a scope
    v_empty bigint[];
    v_behind bigint[];
    v_ids bigint[];
    v_lows bigint[];  -- no job of theirs lies below, but for late ones
    v_places tid[];  -- where their rows are, once locked: the index may hold many dead entries
    v_place tid;
    v_jobs tid[];  -- jobs that are locked already, one of each of v_ids
    v_tenants text[];
    v_limited boolean[];
    v_vts float8[];
    v_weights float8[];
    v_takes int[];
    v_want int;
    v_got int;
    v_free int;
    q text;
    r record;
BEGIN
    IF p_terms IS NOT NULL THEN
        PERFORM 1 FROM ojs_terms AS t WHERE t.id = 1 AND t.version = p_terms;
        IF NOT FOUND THEN
            stale := true;
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;

    IF p_worker IS NOT NULL THEN
        SELECT greatest(w.directive, w.reported), w.pool, w.declared,
               CASE WHEN p_strategy = 3 OR p_prefetches IS NOT TRUE THEN nullif(w.concurrency, 0) END,
               w.tenant, w.last_heartbeat_at
          INTO v_standing, v_bound, v_declared, v_slots, v_owner, v_heard
          FROM ojs_worker AS w WHERE w.id = p_worker;
        IF NOT FOUND THEN
            INSERT INTO ojs_worker (id, tenant, pool)
            VALUES (p_worker, p_caller, CASE WHEN p_binds THEN p_bound END)
            ON CONFLICT DO NOTHING;
            GET DIAGNOSTICS v_got = ROW_COUNT;
            IF v_got = 0 THEN
                SELECT w.pool, w.tenant INTO v_bound, v_owner
                  FROM ojs_worker AS w WHERE w.id = p_worker;
            ELSIF p_binds THEN
                v_bound := p_bound;
            END IF;
        END IF;
        IF v_owner <> p_caller THEN  -- before anything is told of it
            taken := true;
            RETURN NEXT;
            RETURN;
        END IF;
        IF v_heard < v_now - p_heard_ms * interval '1 millisecond' THEN
            PERFORM ojs_heard(ARRAY[p_worker], p_heard_ms);
        END IF;
        IF v_standing > 0 THEN
            directive := v_standing;
            RETURN NEXT;
            RETURN;
        END IF;
        IF v_bound IS DISTINCT FROM p_bound AND p_binds AND p_bound IS NOT NULL THEN
            -- into its first pool, or a worker that had ended into another
            UPDATE ojs_worker AS w SET pool = p_bound
             WHERE w.id = p_worker
               AND (w.pool IS NULL OR w.dead_at IS NOT NULL OR w.stopped_at IS NOT NULL)
            RETURNING w.pool INTO v_bound;
            IF NOT FOUND THEN
                SELECT w.pool INTO v_bound FROM ojs_worker AS w WHERE w.id = p_worker;
            END IF;
        END IF;
        IF v_bound IS DISTINCT FROM p_bound THEN
            bound := coalesce(v_bound, '');
            RETURN NEXT;
            RETURN;
        END IF;
        IF p_declared <> coalesce(v_declared, 0) THEN
            declared := coalesce(v_declared, 0);
            RETURN NEXT;
            RETURN;
        END IF;
        IF v_slots IS NOT NULL THEN
            PERFORM 1 FROM ojs_worker AS w WHERE w.id = p_worker FOR NO KEY UPDATE;
            SELECT least(v_need, v_slots - count(*)) INTO v_need
              FROM ojs_lease AS x WHERE x.worker_id = p_worker;
        END IF;
    END IF;

    -- Counted under the lock, not before it: two fetches may both see room.
    IF p_pool_cap IS NOT NULL AND v_need > 0 THEN
        PERFORM pg_advisory_xact_lock(20266601, hashtext(p_pool));
        SELECT least(v_need, p_pool_cap - count(*)) INTO v_need
          FROM ojs_lease AS x WHERE x.pool = p_pool;
    END IF;

    v_takes_turns := v_takes_turns AND v_need > 0;
    IF v_takes_turns THEN
        v_keeps := p_strategy IN (1, 2) OR p_ratio IS NOT NULL;
        IF v_keeps THEN
            PERFORM pg_advisory_xact_lock(20266601, hashtext(p_turns));
        END IF;
    END IF;
    IF p_scopes IS NOT NULL AND v_need > 0 THEN
        -- What tenants got is read and added to by one claim at a time.
        PERFORM pg_advisory_xact_lock(20266621, s.key)
           FROM (SELECT DISTINCT hashtext(x) AS key FROM unnest(p_scopes) AS x
                  WHERE x IS NOT NULL ORDER BY 1) AS s;
        v_now := clock_timestamp();
    END IF;
    IF v_takes_turns THEN
        v_now := clock_timestamp();
        SELECT o.is_open, o.keys, o.ranks INTO v_is_open, v_keys, v_level_ranks
          FROM ojs_open(p_queues, p_tenant, p_routes, p_low_ranks, p_low_vts, p_strategy = 3,
                        p_is_global) AS o;
        v_takes_turns := true = ANY (v_is_open);
        v_keeps := v_keeps AND v_takes_turns;
    END IF;
    IF p_awaits IS NOT NULL AND v_need > 0 THEN
        IF p_awaits > 0 THEN
            PERFORM pg_advisory_xact_lock(20266602, (p_awaits % 2147483648)::int);
        ELSE
            PERFORM 1 FROM ojs_lane AS l WHERE l.id = -p_awaits FOR NO KEY UPDATE;
        END IF;
        v_held := true;
        v_now := clock_timestamp();
    END IF;
    IF v_takes_turns THEN
        v_slots := v_need;
        v_last := cardinality(p_queues);
        v_taken := array_fill(0, ARRAY[v_last]);
        SELECT array_agg(CASE WHEN NOT x.is_open THEN 0 END ORDER BY x.i) INTO v_stock
          FROM unnest(v_is_open) WITH ORDINALITY AS x (is_open, i);
        IF v_keeps THEN
            v_turn := ojs_turn_now(p_turns, p_queues, v_is_open, v_now);
        END IF;
        IF p_is_global THEN
            SELECT array_agg(i), array_agg(i), array_agg(NULL::int)
              INTO v_levels, v_level_queues, v_level_ends
              FROM generate_series(1, v_last) AS i;
        END IF;
        SELECT o.keys, o.since, o.overdue INTO v_keys, v_since, v_overdue
          FROM ojs_turn_keys(p_strategy, p_queues, v_is_open, v_keys, v_turn, p_ratio, p_rotation_ms,
                             v_now) AS o;
    END IF;

    -- One round where the queues come in their order. Where they take turns, decide them all, take
    -- what they ask for, and decide anew with what turned out to be missing, until both agree: as if
    -- each slot had been decided when the one before it was taken.
    LOOP
        IF v_takes_turns THEN
            v_order := ojs_turns(p_strategy, v_slots, v_stock, v_keys, p_weights, p_ratio, v_since,
                                 v_overdue, v_turn.seq, v_level_queues, v_level_ends, v_level_ranks);
            v_wants := array_fill(0, ARRAY[v_last]);
            FOREACH v_at IN ARRAY v_order LOOP
                v_wants[v_at] := v_wants[v_at] + 1;
            END LOOP;
            EXIT WHEN v_wants = v_taken;
            v_visited := false;
            v_first := CASE WHEN v_need < v_slots OR p_tenant IS NOT NULL
                              OR v_wants[v_order[1]] = v_slots
                            THEN 1 ELSE 0 END;
        END IF;

        -- Number 0 is all queues at once that have a single lane without limits to give from: they take
        -- one statement together instead of several each. The others, and what was missing, follow.
        FOR i IN v_first .. cardinality(p_queues) LOOP
            EXIT WHEN v_need <= 0;
            CONTINUE WHEN v_wants[i] <= v_taken[i];  -- null where none takes turns, and of number 0
            q := p_queues[i];
            v_scope := p_scopes[i];
            v_quota := v_need;
            v_before := v_need;
            v_queue_limits := NULL;
            <<look>>
            BEGIN
                EXIT look WHEN i = 0;
                IF v_takes_turns THEN
                    v_quota := least(v_quota, v_wants[i] - v_taken[i]);
                    v_stock[i] := v_taken[i];  -- until it has given what is asked for
                    v_is_open[i] := false;
                    v_visited := true;
                END IF;
                SELECT u.paused_at IS NOT NULL, u.limit_id INTO v_paused, v_queue_limit
                  FROM ojs_queue AS u WHERE u.name = q;
                CONTINUE WHEN NOT FOUND OR v_paused;

                IF v_queue_limit IS NOT NULL THEN
                    IF v_held THEN
                        IF NOT pg_try_advisory_xact_lock(20266602,
                                                         (v_queue_limit % 2147483648)::int)
                        THEN
                            v_awaits := v_queue_limit;
                            CONTINUE;
                        END IF;
                    ELSE
                        PERFORM pg_advisory_xact_lock(20266602, (v_queue_limit % 2147483648)::int);
                        v_held := true;
                    END IF;
                    v_now := clock_timestamp();
                    SELECT o.room, o.opens_at INTO v_free, v_until
                      FROM ojs_room(v_queue_limit, v_now) AS o;
                    v_quota := least(v_quota, v_free);
                    IF v_quota <= 0 THEN
                        v_opens := least(v_opens, v_until);
                        CONTINUE;
                    END IF;
                    v_queue_limits := ARRAY[v_queue_limit];
                END IF;

                v_home := q;
                IF p_tenant IS NOT NULL THEN
                    SELECT array_agg(l.id) INTO v_own FROM ojs_lane_key AS l
                     WHERE l.tenant = p_tenant AND l.queue = q
                       AND (p_routes IS NULL OR l.route = ANY (p_routes));
                    v_home := coalesce((SELECT l.queue FROM ojs_lane AS l WHERE l.id = v_own[1]), q);
                    v_homes[i] := v_home;
                END IF;

                -- Limits that have opened by themselves since a claim found them reached.
                FOR r IN SELECT l.ctid AS place, l.blocked_until AS until FROM ojs_lane AS l
                          WHERE l.id = ANY (ARRAY(
                                SELECT m.id FROM ojs_lane AS m
                                 WHERE m.queue = v_home AND m.blocked_until <= v_now
                                 ORDER BY m.queue, m.blocked_until LIMIT 100))
                            FOR NO KEY UPDATE SKIP LOCKED
                LOOP
                    v_held := true;  -- by id alone: one that has changed is locked and told of, too
                    UPDATE ojs_lane AS l SET blocked_by = NULL, blocked_until = NULL,
                                             vt = ojs_rejoin(l),
                                             paid = CASE WHEN l.scope IS NULL THEN 0 ELSE
                                                    ojs_served(l.scope, l.rank, l.tenant) END
                     WHERE l.ctid = r.place AND r.until <= v_now;
                END LOOP;

                v_from_rank := -32768;
                v_from_vt := '-Infinity';
                v_hinted := p_low_ranks[i] IS NOT NULL;
                IF v_hinted THEN
                    -- a lane of higher priority may have woken since the hint was taken
                    PERFORM 1 FROM ojs_lane AS l
                      WHERE l.queue = q AND ojs_offered(l.active, l.blocked_by, l.paused)
                        AND l.rank < p_low_ranks[i]
                      ORDER BY l.queue, l.rank, l.vt LIMIT 1;
                    v_hinted := NOT FOUND;
                    IF v_hinted THEN
                        v_from_rank := p_low_ranks[i];
                        v_from_vt := p_low_vts[i];
                    END IF;
                END IF;
            END;

            -- Every pass takes jobs, or finds a lane or a limit that the next ones pass by.
            v_moved := false;
            v_shut := v_full;
            v_busy_rank := NULL;
            FOR pass IN 1 .. 1000 LOOP
                EXIT WHEN v_quota <= 0;
                v_ordered := false;
                <<choose>>
                BEGIN
                    IF i = 0 THEN
                        -- The jobs are locked now, so that each lane gives what is counted here. Each
                        -- job comes with its lane, as if that were a lane for itself.
                        SELECT array_agg(x.i), array_agg(a.id), array_agg(a.tenant), array_agg(false),
                               array_agg(a.vt), array_agg(a.weight), array_agg(a.low), array_agg(1),
                               array_agg(a.rank), array_agg(h.place), count(*), NULL, false,
                               p_low_ranks IS NOT NULL, false, false
                          INTO v_spots, v_ids, v_tenants, v_limited, v_vts, v_weights, v_lows, v_takes,
                               v_ranks, v_jobs, v_lanes, v_places, v_locked,
                               v_hinted, v_capped, v_owes
                          FROM unnest(p_queues, v_wants) WITH ORDINALITY AS x (queue, want, i)
                          JOIN ojs_queue AS u ON u.name = x.queue AND u.paused_at IS NULL
                                             AND u.limit_id IS NULL
                         CROSS JOIN LATERAL (
                               SELECT count(*) AS lanes, min(z.id) AS id, min(z.tenant) AS tenant,
                                      min(z.vt) AS vt, min(z.weight) AS weight, min(z.rank) AS rank,
                                      bool_or(z.limits IS NOT NULL OR z.timed) AS limited,
                                      min(z.low) AS low, bool_or(z.ordered) AS ordered
                                 FROM (SELECT l.id, l.tenant, l.vt, l.weight, l.rank, l.limits,
                                              ojs_lowest(l.low, l.returned) AS low, l.timed,
                                              l.ordered
                                         FROM ojs_lane AS l
                                        WHERE l.queue = x.queue
                                          AND ojs_offered(l.active, l.blocked_by, l.paused)
                                          AND (l.rank, l.vt) >= (coalesce(p_low_ranks[x.i], -32768),
                                                                 coalesce(p_low_vts[x.i], '-Infinity'))
                                          AND (p_routes IS NULL OR l.route = ANY (p_routes))
                                        ORDER BY l.queue, l.rank, l.vt LIMIT 2) AS z) AS a
                         CROSS JOIN LATERAL (
                               SELECT z.ctid AS place
                                 FROM ojs_ready AS z
                                WHERE z.lane_id = a.id
                                  AND z.seq >= CASE WHEN p_low_ranks[x.i] IS NULL OR a.low IS NULL
                                               THEN 0 ELSE greatest(a.low, p_low_seqs[array_position(
                                                   p_low_lanes, a.id)]) - 128 END
                                  AND ojs_fresh(z.expires_at, v_now)
                                ORDER BY z.lane_id, z.seq LIMIT x.want
                                  FOR UPDATE SKIP LOCKED) AS h
                         WHERE x.want > 0 AND a.lanes = 1 AND NOT a.limited
                           AND (v_levels IS NULL OR a.rank = v_level_ranks[v_levels[x.i]])
                           AND (SELECT true FROM ojs_lane AS l
                                 WHERE l.queue = x.queue AND l.rank < p_low_ranks[x.i]
                                   AND ojs_offered(l.active, l.blocked_by, l.paused)
                                 ORDER BY l.queue, l.rank, l.vt LIMIT 1) IS NULL
                           AND (SELECT true FROM ojs_lane AS l
                                 WHERE l.queue = x.queue AND l.blocked_until <= v_now
                                 ORDER BY l.queue, l.blocked_until LIMIT 1) IS NULL
                           AND CASE WHEN a.ordered AND p_low_ranks[x.i] IS NOT NULL THEN
                               (SELECT true FROM ojs_lane AS l
                                 WHERE l.queue = x.queue AND l.ordered AND l.returned IS NOT NULL
                                   AND ojs_offered(l.active, l.blocked_by, l.paused)
                                 ORDER BY l.queue LIMIT 1) END IS NULL;
                        EXIT WHEN v_lanes = 0;
                        v_visited := true;
                        EXIT choose;
                    END IF;
                    -- The head decides the priority; one lane alone needs no bookkeeping between lanes.
                    IF p_tenant IS NULL THEN
                        SELECT count(*), (array_agg(z.rank))[1], (array_agg(z.vt))[1], array_agg(z.id),
                               (array_agg(z.ordered))[1]
                          INTO v_lanes, v_rank, v_vt, v_near, v_ordered
                          FROM (SELECT l.id, l.rank, l.vt, l.ordered FROM ojs_lane AS l
                                 WHERE l.queue = q AND ojs_offered(l.active, l.blocked_by, l.paused)
                                   AND (l.rank, l.vt) >= (v_from_rank, v_from_vt)
                                   AND l.id <> ALL (v_barren)
                                   AND (v_shut IS NULL OR l.limits IS NULL OR NOT l.limits && v_shut)
                                   AND (p_routes IS NULL OR l.route = ANY (p_routes))
                                 ORDER BY l.queue, l.rank, l.vt, l.id LIMIT 2) AS z;
                    ELSE
                        SELECT count(*), min(z.rank), min(z.vt), array_agg(z.id), bool_or(z.ordered)
                          INTO v_lanes, v_rank, v_vt, v_near, v_ordered
                          FROM (SELECT l.id, l.rank, l.vt, l.ordered, min(l.rank) OVER () AS head
                                  FROM ojs_lane AS l
                                 WHERE l.id = ANY (v_own)
                                   AND ojs_offered(l.active, l.blocked_by, l.paused)
                                   AND (v_shut IS NULL OR l.limits IS NULL OR NOT l.limits && v_shut)
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
                    IF v_ordered AND v_hinted THEN
                        -- a job that came back has moved the `vt` of its lane down
                        PERFORM 1 FROM ojs_lane AS l
                          WHERE l.queue = q AND l.ordered AND l.returned IS NOT NULL
                            AND ojs_offered(l.active, l.blocked_by, l.paused)
                          ORDER BY l.queue LIMIT 1;
                        IF FOUND THEN
                            v_hinted := false;
                            v_from_rank := -32768;
                            v_from_vt := '-Infinity';
                            CONTINUE;
                        END IF;
                    END IF;
                    v_ordered := v_ordered AND (v_lanes > 1 OR v_held);

                    -- What others are at work on may turn out to be of higher priority.
                    EXIT WHEN v_rank > v_busy_rank;
                    IF v_rank <> v_level_ranks[v_levels[i]] THEN
                        -- The best job is of another priority now: decide anew whose turn it is.
                        v_level_ends[v_levels[i]] := v_taken[i] + v_before - v_need;
                        v_level_queues := v_level_queues || i;
                        v_level_ends := v_level_ends || NULL::int;
                        v_level_ranks := v_level_ranks || v_rank;
                        v_levels[i] := cardinality(v_level_ranks);
                        v_moved := true;
                        EXIT;
                    END IF;

                    v_alone := v_lanes = 1;
                    v_head := v_near[1];
                    IF v_scope IS NOT NULL AND p_tenant IS NULL AND NOT v_ordered
                       AND (v_lanes > 1 OR v_held)
                    THEN
                        v_held := true;
                        v_vt := coalesce(ojs_settle(v_scope, q, v_rank, v_vt, v_quota, v_barren, v_shut,
                                                    p_routes), v_vt);
                        v_head := 0;  -- another one may be first now
                    END IF;
                    v_locked := false;
                    v_rest := NULL;
                    IF v_ordered THEN
                        SELECT o.lanes, o.takes, o.empty, o.behind
                          INTO v_near, v_gives, v_empty, v_behind
                          FROM ojs_in_order(q, v_rank, v_vt,
                                            CASE WHEN p_tenant IS NOT NULL THEN v_near END,
                                            v_barren, p_routes, v_quota, v_hinted, v_now) AS o;
                        -- Only lanes with limits are locked: those are told by blocking the lane. They
                        -- are locked by id alone, so that what is locked comes back, also changed: it
                        -- gives nothing then, but whoever holds it does not wait.
                        SELECT array_agg(s.id), array_agg(s.tenant), array_agg(s.limited),
                               array_agg(s.vt), array_agg(s.weight), array_agg(s.low),
                               array_agg(s.place), array_agg(s.n), count(*),
                               bool_or(s.place IS NOT NULL)
                          INTO v_ids, v_tenants, v_limited, v_vts, v_weights, v_lows, v_places, v_takes,
                               v_lanes, v_capped
                          FROM (SELECT l.id, l.tenant, false AS limited, l.vt, l.weight,
                                       ojs_lowest(l.low, l.returned) AS low,
                                       NULL::tid AS place, u.n
                                  FROM unnest(v_near, v_gives) AS u (lane, n)
                                  JOIN ojs_lane AS l ON l.id = u.lane
                                 WHERE l.limits IS NULL
                                 UNION ALL
                                SELECT o.id, o.tenant, o.limits IS NOT NULL, o.vt, o.weight,
                                       ojs_lowest(o.low, o.returned), o.place,
                                       CASE WHEN ojs_offered(o.active, o.blocked_by, o.paused)
                                                     THEN u.n ELSE 0 END
                                  FROM (SELECT l.*, l.ctid AS place FROM ojs_lane AS l
                                         WHERE l.id = ANY (ARRAY(
                                               SELECT m.id FROM ojs_lane AS m
                                                WHERE m.id = ANY (v_near) AND m.limits IS NOT NULL))
                                           FOR NO KEY UPDATE SKIP LOCKED) AS o
                                  JOIN unnest(v_near, v_gives) AS u (lane, n) ON u.lane = o.id) AS s;
                        v_rest := ARRAY(SELECT u.id FROM unnest(v_near) AS u (id)
                                         WHERE v_ids IS NULL OR u.id <> ALL (v_ids) ORDER BY u.id);
                        v_held := v_held OR v_capped IS TRUE;
                        IF cardinality(v_rest) > 0 THEN
                            -- One that another claim is at work on holds older jobs: wait for it, unless
                            -- something is held already.
                            IF NOT v_held THEN
                                PERFORM 1 FROM ojs_lane AS l WHERE l.id = v_rest[1] FOR NO KEY UPDATE;
                                v_held := true;
                                CONTINUE;
                            END IF;
                            v_awaits := coalesce(v_awaits, -v_rest[1]);
                            v_barren := v_barren || v_rest;
                        END IF;
                        v_rest := NULL;
                    ELSIF v_lanes > 1 OR v_held THEN
                        -- Even if none comes back: a lane whose facts have changed stays locked.
                        v_held := true;
                        IF p_tenant IS NOT NULL THEN
                            SELECT array_agg(s.id), array_agg(s.tenant), array_agg(s.limited),
                                   array_agg(s.vt), array_agg(s.weight), array_agg(s.low),
                                   array_agg(s.place), count(*),
                                   bool_or(s.limited)
                              INTO v_ids, v_tenants, v_limited, v_vts, v_weights, v_lows, v_places,
                                   v_lanes,
                                   v_capped
                              FROM (SELECT l.id, l.tenant, l.limits IS NOT NULL AS limited, l.vt,
                                           l.weight, ojs_lowest(l.low, l.returned) AS low,
                                           l.ctid AS place
                                      FROM ojs_lane AS l
                                     WHERE l.id = ANY (v_near)
                                       AND ojs_offered(l.active, l.blocked_by, l.paused)
                                     ORDER BY l.vt LIMIT v_quota FOR NO KEY UPDATE SKIP LOCKED) AS s;
                        ELSE
                            -- The window keeps a fetcher from serving a lane far ahead of the head just
                            -- because others hold the lanes before it.
                            SELECT array_agg(s.id), array_agg(s.tenant), array_agg(s.limited),
                                   array_agg(s.vt), array_agg(s.weight), array_agg(s.low),
                                   array_agg(s.place), count(*),
                                   bool_or(s.limited)
                              INTO v_ids, v_tenants, v_limited, v_vts, v_weights, v_lows, v_places,
                                   v_lanes,
                                   v_capped
                              FROM (SELECT l.id, l.tenant, l.limits IS NOT NULL AS limited, l.vt,
                                           l.weight, ojs_lowest(l.low, l.returned) AS low,
                                           l.ctid AS place
                                      FROM ojs_lane AS l
                                     WHERE l.queue = q AND ojs_offered(l.active, l.blocked_by, l.paused)
                                       AND l.rank = v_rank AND (l.vt, l.id) >= (v_vt, v_head)
                                       AND l.vt <= v_vt + v_quota + 1
                                       AND l.vt <= v_vt + (v_quota + 1) / l.weight
                                       AND l.id <> ALL (v_barren)
                                       AND (v_shut IS NULL OR l.limits IS NULL OR NOT l.limits && v_shut)
                                       AND (p_routes IS NULL OR l.route = ANY (p_routes))
                                     ORDER BY l.queue, l.rank, l.vt LIMIT v_quota
                                       FOR NO KEY UPDATE SKIP LOCKED) AS s;
                        END IF;
                        v_locked := v_lanes > 0;
                        -- Of a scope there is no other claim, and lanes may be far from the first one.
                        IF p_tenant IS NULL AND v_lanes < v_quota AND NOT v_alone
                           AND v_scope IS NULL
                        THEN
                            SELECT array_agg(c.id), max(c.vt) INTO v_rest, v_level
                              FROM (SELECT l.id, l.vt FROM ojs_lane AS l
                                     WHERE l.queue = q AND ojs_offered(l.active, l.blocked_by, l.paused)
                                       AND l.rank = v_rank AND (l.vt, l.id) >= (v_vt, v_head)
                                       AND l.id <> ALL (v_barren)
                                       AND (v_ids IS NULL OR l.id <> ALL (v_ids))
                                       AND (v_shut IS NULL OR l.limits IS NULL OR NOT l.limits && v_shut)
                                       AND (p_routes IS NULL OR l.route = ANY (p_routes))
                                     ORDER BY l.queue, l.rank, l.vt LIMIT 32) AS c;
                            IF NOT v_locked THEN
                                v_near := v_rest;
                                CONTINUE WHEN v_near IS NULL;  -- another claim has just marked them all
                            END IF;
                        END IF;
                    END IF;
                    IF NOT v_locked AND NOT v_ordered THEN
                        -- A lane alone, or all of them held by other fetchers: take heads under row
                        -- locks only. Only at the head's priority, and only lanes
                        -- without limits: those are told by blocking the lane, which takes its lock. Nor
                        -- one alone whose jobs cost by duration: what short ones cost less would be
                        -- given back though nothing was charged.
                        SELECT array_agg(s.id), array_agg(s.tenant), array_agg(false), array_agg(s.vt),
                               array_agg(s.weight), array_agg(s.low), count(*), NULL, false
                          INTO v_ids, v_tenants, v_limited, v_vts, v_weights, v_lows, v_lanes, v_places,
                               v_capped
                          FROM (SELECT l.id, l.tenant, l.vt, l.weight,
                                       ojs_lowest(l.low, l.returned) AS low FROM ojs_lane AS l
                                 WHERE l.id = ANY (v_near)
                                   AND ojs_offered(l.active, l.blocked_by, l.paused)
                                   AND l.limits IS NULL
                                   AND (NOT l.timed OR p_tenant IS NULL AND cardinality(v_near) > 1)
                               ) AS s;
                        IF v_lanes = 0 THEN
                            -- Limited lanes alone: wait for the first, unless one may be held already
                            -- (two fetchers could then wait for each other).
                            IF v_held THEN
                                v_awaits := -v_near[1];
                                EXIT;
                            END IF;
                            SELECT array_agg(s.id), array_agg(s.tenant), array_agg(s.limited),
                                   array_agg(s.vt), array_agg(s.weight), array_agg(s.low),
                                   array_agg(s.place), count(*),
                                   bool_or(s.limited)
                              INTO v_ids, v_tenants, v_limited, v_vts, v_weights, v_lows, v_places,
                                   v_lanes,
                                   v_capped
                              FROM (SELECT l.id, l.tenant, l.limits IS NOT NULL AS limited, l.vt,
                                           l.weight, ojs_lowest(l.low, l.returned) AS low,
                                           l.ctid AS place
                                      FROM ojs_lane AS l
                                     WHERE l.id = v_near[1]
                                       AND ojs_offered(l.active, l.blocked_by, l.paused)
                                       FOR NO KEY UPDATE) AS s;
                            v_locked := true;
                            v_held := true;
                            CONTINUE WHEN v_lanes = 0;
                        END IF;
                    END IF;

                    v_owes := NOT v_ordered AND v_scope IS NULL
                              AND (NOT v_locked AND cardinality(v_near) > 1 OR v_rest IS NOT NULL);
                    v_paid := '{}';
                    IF v_locked AND NOT v_alone THEN
                        FOR r IN DELETE FROM ojs_debt AS t WHERE t.lane_id = ANY (v_ids)
                              RETURNING t.lane_id, t.cost
                        LOOP
                            v_at := array_position(v_ids, r.lane_id);
                            v_vts[v_at] := v_vts[v_at] + r.cost;
                            v_paid := v_paid || v_at;
                        END LOOP;
                        IF v_rest IS NOT NULL THEN
                            -- Others hold the rest of the lanes and may be serving them. As if those
                            -- were served as far as any, they get what lies beyond; each from a place
                            -- of its own between two jobs, or those of large weight came first always.
                            SELECT greatest(v_level, max(t)) INTO v_level FROM unnest(v_vts) AS t;
                            SELECT v_ids || array_agg(l.id), v_tenants || array_agg(l.tenant),
                                   v_limited || array_agg(false),
                                   v_vts || array_agg(v_level - random() / l.weight),
                                   v_weights || array_agg(l.weight),
                                   v_lows || array_agg(ojs_lowest(l.low, l.returned)),
                                   v_places || array_agg(NULL::tid), v_lanes + count(*)
                              INTO v_ids, v_tenants, v_limited, v_vts, v_weights, v_lows, v_places,
                                   v_lanes
                              FROM ojs_lane AS l
                             WHERE l.id = ANY (v_rest) AND l.limits IS NULL
                               AND ojs_offered(l.active, l.blocked_by, l.paused);
                        END IF;
                    END IF;

                    -- How many from each: the v_quota smallest tags vt + g/weight (start-time fairness).
                    IF v_ordered THEN
                        NULL;  -- counted already
                    ELSIF v_lanes = 1 THEN
                        v_takes := ARRAY[v_quota];
                    ELSIF NOT v_locked THEN
                        -- How far each is served is known to those who hold them: by weight alone then,
                        -- as many as lie on a ruler with v_quota marks that begins anywhere. Short of 1,
                        -- no rounding makes one mark too many.
                        v_level := 0.999999 * random();
                        SELECT array_agg((floor(y.upto + v_level) - floor(y.since + v_level))::int
                                         ORDER BY y.i) INTO v_takes
                          FROM (SELECT x.i, x.upto, coalesce(lag(x.upto) OVER (ORDER BY x.i), 0) AS since
                                  FROM (SELECT t.i, v_quota * sum(t.w) OVER (ORDER BY t.i)
                                                    / sum(t.w) OVER () AS upto
                                          FROM unnest(v_weights) WITH ORDINALITY AS t (w, i)) AS x) AS y;
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
                        v_seen := '{}';
                        v_rooms := '{}';
                        v_times := '{}';
                        FOR k IN 1 .. v_lanes LOOP
                            CONTINUE WHEN NOT v_limited[k] OR v_takes[k] = 0;
                            SELECT l.limits INTO v_limits FROM ojs_lane AS l WHERE l.ctid = v_places[k];
                            v_free := v_takes[k];
                            v_closed := NULL;
                            v_until := NULL;
                            FOREACH v_limit IN ARRAY v_limits LOOP
                                IF v_limit <> ALL (v_seen) THEN
                                    v_seen := v_seen || v_limit;
                                    IF pg_try_advisory_xact_lock(20266602, (v_limit % 2147483648)::int)
                                    THEN
                                        v_now := clock_timestamp();
                                        SELECT v_rooms || CASE o.room WHEN 0 THEN -2 ELSE o.room END,
                                               v_times || o.opens_at
                                          INTO v_rooms, v_times FROM ojs_room(v_limit, v_now) AS o;
                                    ELSE
                                        v_rooms := v_rooms || -1;
                                        v_times := v_times || NULL::timestamptz;
                                        v_shut := v_shut || v_limit;
                                        v_busy_rank := v_rank;
                                        v_awaits := v_limit;
                                    END IF;
                                END IF;
                                v_at := array_position(v_seen, v_limit);
                                IF v_rooms[v_at] = -2 THEN
                                    v_closed := v_limit;
                                    v_until := v_times[v_at];
                                END IF;
                                v_free := least(v_free, v_rooms[v_at]);
                            END LOOP;
                            v_free := greatest(v_free, 0);
                            IF v_closed IS NOT NULL THEN
                                UPDATE ojs_lane AS l SET blocked_by = v_closed, blocked_until = v_until
                                 WHERE l.ctid = v_places[k]
                                RETURNING l.ctid INTO v_place;
                                v_places[k] := v_place;
                                PERFORM 1 FROM ojs_limit AS m
                                  WHERE m.id = v_closed AND m.policy ->> 'on_limit' <> 'wait';
                                IF FOUND THEN
                                    v_crowded := coalesce(v_crowded, '[]') || jsonb_build_object(
                                        'lane', v_ids[k], 'jobs', v_takes[k], 'limit', v_closed);
                                ELSE
                                    v_full := v_full || v_closed;
                                    v_full_until := v_until;
                                    v_shut := v_shut || v_closed;
                                END IF;
                            END IF;
                            v_takes[k] := v_free;
                            FOREACH v_limit IN ARRAY v_limits LOOP
                                v_at := array_position(v_seen, v_limit);
                                v_rooms[v_at] := v_rooms[v_at] - v_free;
                            END LOOP;
                        END LOOP;
                    END IF;

                END;

                SELECT coalesce(sum(t), 0) INTO v_want FROM unnest(v_takes) AS t;
                IF i = 0 AND p_scopes IS NOT NULL THEN
                    PERFORM ojs_spend((SELECT array_agg(p_scopes[x.spot] ORDER BY x.k)
                                         FROM unnest(v_spots) WITH ORDINALITY AS x (spot, k)),
                                      v_ranks, v_tenants, v_takes, v_weights);
                    v_held := true;
                ELSIF v_scope IS NOT NULL AND v_want > 0 THEN
                    -- The jobs are locked now, so that each lane gives what is charged here, and no more
                    -- of those that come meanwhile.
                    SELECT array_agg(h.jobs ORDER BY u.position) INTO v_gives
                      FROM unnest(v_ids, v_takes, v_lows)
                           WITH ORDINALITY AS u (lane, n, low, position)
                     CROSS JOIN LATERAL (
                           SELECT count(*)::int AS jobs
                             FROM (SELECT 1 FROM ojs_ready AS z
                                    WHERE z.lane_id = u.lane
                                      AND z.seq >= CASE WHEN NOT v_hinted OR u.low IS NULL THEN 0
                                                   ELSE greatest(u.low, p_low_seqs[array_position(
                                                       p_low_lanes, u.lane)]) - 128 END
                                      AND ojs_fresh(z.expires_at, v_now)
                                    ORDER BY z.lane_id, z.seq LIMIT u.n
                                      FOR UPDATE SKIP LOCKED) AS locked) AS h;
                    PERFORM ojs_spend(array_fill(v_scope, ARRAY[v_lanes]),
                                      array_fill(v_rank, ARRAY[v_lanes]),
                                      v_tenants, v_gives, v_weights);
                    v_held := true;  -- what tenants got, which whoever ends the scope waits for
                    v_asks := v_takes;
                    v_takes := v_gives;
                END IF;
                v_got := 0;
                IF v_want > 0 OR cardinality(v_paid) > 0 THEN  -- what was owed is charged in any case
                    RETURN QUERY
                    WITH h AS MATERIALIZED (
                        SELECT w.lane, w.tenant, w.limits, hh.place,
                               CASE WHEN v_ordered THEN hh.seq
                                    ELSE w.vt + row_number() OVER (PARTITION BY w.lane ORDER BY hh.seq)
                                                / w.weight END AS tag, w.position
                          FROM unnest(v_ids, v_takes, v_tenants, v_limited, v_vts, v_weights, v_lows)
                               WITH ORDINALITY AS u (lane, n, tenant, limited, vt, weight, low, position)
                         CROSS JOIN LATERAL (SELECT u.lane, u.tenant, u.vt, u.weight, u.position,
                                                    CASE WHEN u.limited THEN
                                                        (SELECT l.limits || v_queue_limits
                                                           FROM ojs_lane AS l
                                                          WHERE l.ctid = v_places[u.position])
                                                    ELSE v_queue_limits END AS limits) AS w
                         CROSS JOIN LATERAL (
                               SELECT v_jobs[u.position] AS place, u.position AS seq
                                WHERE v_jobs IS NOT NULL
                                UNION ALL
                               SELECT locked.place, locked.seq
                                 FROM (SELECT z.ctid AS place, z.seq FROM ojs_ready AS z
                                        WHERE v_jobs IS NULL AND z.lane_id = u.lane
                                          AND z.seq >= CASE WHEN NOT v_hinted OR u.low IS NULL THEN 0
                                                            WHEN v_ordered THEN u.low - 128
                                                            ELSE greatest(u.low,
                                                                 p_low_seqs[array_position(
                                                                 p_low_lanes, u.lane)]) - 128 END
                                          AND ojs_fresh(z.expires_at, v_now)
                                        ORDER BY z.lane_id, z.seq LIMIT u.n
                                          FOR UPDATE SKIP LOCKED) AS locked) AS hh
                    ), d AS (
                        -- by place: these rows have just been locked, and no plan can read others
                        DELETE FROM ojs_ready AS z USING h WHERE z.ctid = h.place
                        RETURNING z.id, h.lane, h.tenant, h.limits, z.seq, z.attempt, z.enqueued_at,
                                  h.tag, h.position
                    ), b AS MATERIALIZED (
                        -- the one look at the wide row
                        SELECT d.id, d.lane, d.tenant, d.limits, d.seq, d.attempt + 1 AS attempt,
                               d.enqueued_at, d.tag, d.position, s.at, s.ms,
                               s.at + s.ms * interval '1 millisecond' AS until,
                               j.type, j.queue, j.priority, j.version, j.args::text AS args,
                               j.meta::text AS meta, j.attributes::text AS attributes, j.max_attempts,
                               j.timeout_ms, j.created_at, j.scheduled_at, j.expires_at,
                               j.activated_at, j.error::text AS error, j.errors::text AS errors,
                               j.retry_delay_ms, j.watched, j.bytes
                          FROM d JOIN ojs_job AS j ON j.id = d.id
                         CROSS JOIN LATERAL (
                               SELECT greatest(v_now, d.enqueued_at) AS at,
                                      coalesce(p_lease_ms, j.visibility_ms, p_default_lease_ms) AS ms
                               ) AS s
                    ), a AS (
                        INSERT INTO ojs_lease (id, lane_id, seq, tenant, limits, watched, pool,
                                               worker_id, attempt, enqueued_at, started_at, lease_ms,
                                               lease_until, timeout_at)
                        SELECT b.id, b.lane, b.seq, b.tenant, b.limits, b.watched, p_pool,
                               p_worker, b.attempt, b.enqueued_at, b.at, b.ms, b.until,
                               b.at + b.timeout_ms * interval '1 millisecond'
                          FROM b
                    ), k AS (
                        INSERT INTO ojs_hold (limit_id, job_id)
                        SELECT x.id, b.id FROM b CROSS JOIN LATERAL unnest(b.limits) AS x (id)
                        RETURNING limit_id
                    ), o AS (
                        INSERT INTO ojs_start AS t (limit_id, slot, at, jobs)
                        SELECT k.limit_id, date_bin(m.slot_ms * interval '1 millisecond',
                                               v_now, 'epoch'),
                               v_now, count(*)
                          FROM k CROSS JOIN LATERAL (  -- limited, or the whole table is joined
                               SELECT l.slot_ms FROM ojs_limit AS l
                                WHERE l.id = k.limit_id AND l.slot_ms IS NOT NULL LIMIT 1) AS m
                         GROUP BY k.limit_id, m.slot_ms
                        ON CONFLICT (limit_id, slot) DO UPDATE
                           SET jobs = t.jobs + excluded.jobs, at = greatest(t.at, excluded.at)
                    ), e AS (
                        INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state,
                                               to_state, attempt, bytes, worker_id, pool, limits,
                                               took_ms)
                        SELECT b.at, 3, b.id, b.queue, b.type, b.tenant, 3, 4, b.attempt, -b.bytes,
                               p_worker, p_pool, b.limits,
                               (extract(epoch FROM b.at - b.enqueued_at) * 1000)::bigint
                          FROM b
                    ), owed AS (
                        -- no lock lets us charge the lanes: whoever has theirs next does
                        INSERT INTO ojs_debt (lane_id, cost)
                        SELECT d.lane, count(*) / v_weights[d.position] FROM d
                         WHERE v_owes AND v_places[d.position] IS NULL GROUP BY d.lane, d.position
                    ), u AS (
                        UPDATE ojs_lane AS l
                           SET vt = CASE WHEN l.ordered THEN l.vt ELSE n.vt + n.jobs / l.weight END,
                               paid = CASE WHEN v_scope IS NULL THEN l.paid
                                           ELSE l.paid + n.jobs / l.weight END,
                               low = CASE WHEN l.returned IS NULL THEN greatest(l.low, n.low)
                                          ELSE l.low END,
                               -- of what `rank` is generated from: where none is set, PostgreSQL
                               -- reads the definition of `rank` anew for each row (5 percent of a claim)
                               boost = l.boost
                          FROM (SELECT count(d.seq) AS jobs, max(d.seq) AS low,
                                       v_places[d.position] AS place, v_vts[d.position] AS vt
                                  FROM d WHERE v_locked GROUP BY d.position
                                 UNION ALL
                                SELECT 0, 0, v_places[t.position], v_vts[t.position]
                                  FROM unnest(v_paid) AS t (position)
                                 WHERE v_locked AND t.position <> ALL (ARRAY(SELECT d.position FROM d))
                               ) AS n
                         WHERE l.ctid = n.place
                    )
                    SELECT b.id, b.type, b.queue, b.tenant, b.lane, b.seq, b.priority, b.version,
                           b.args, b.meta, b.attributes, b.max_attempts, b.timeout_ms, b.created_at,
                           b.scheduled_at, b.expires_at, b.activated_at, b.attempt, b.enqueued_at,
                           b.at, b.ms, b.until, b.error, b.errors, b.retry_delay_ms, b.watched,
                           CASE i WHEN 0 THEN v_ranks[b.position] ELSE v_rank END,
                           CASE i WHEN 0 THEN v_vts[b.position] ELSE v_vt END,
                           NULL::smallint, NULL::boolean, NULL::bigint, NULL::jsonb, NULL::boolean,
                           NULL::text, NULL::int[], NULL::bigint, NULL::bigint, NULL::boolean
                      FROM b
                     ORDER BY b.tag, b.position;
                    GET DIAGNOSTICS v_got = ROW_COUNT;
                END IF;
                v_takes := coalesce(v_asks, v_takes);
                v_asks := NULL;

                IF v_ordered THEN
                    -- Which lane is next goes by the first job of each; of jobs in the hands of others
                    -- too, since those may come back.
                    FOR r IN SELECT l.ctid AS place, (
                                    SELECT z.seq FROM ojs_ready AS z
                                     WHERE z.lane_id = l.id
                                       AND z.seq >= coalesce(ojs_lowest(l.low, l.returned) - 128, 0)
                                       AND ojs_fresh(z.expires_at, v_now)
                                     ORDER BY z.lane_id, z.seq LIMIT 1) AS head
                               FROM ojs_lane AS l
                              WHERE l.id = ANY (v_ids || v_behind) AND l.ordered
                                FOR NO KEY UPDATE SKIP LOCKED
                    LOOP
                        UPDATE ojs_lane AS l
                           SET vt = greatest(l.vt, r.head), low = greatest(l.low, r.head)
                         WHERE l.ctid = r.place AND r.head > l.vt
                           AND l.returned IS NULL;  -- the look may have been before the job came back
                        v_held := true;
                    END LOOP;
                END IF;

                IF array_position(v_lows, NULL) IS NOT NULL THEN
                    -- The look for jobs that came back follows the lock in a statement of its own. It
                    -- sees all such jobs: whoever returns one marks the lane before the commit.
                    FOR r IN SELECT l.ctid AS place, l.id, l.returned FROM ojs_lane AS l
                              WHERE l.id = ANY (ARRAY(
                                    SELECT u.lane FROM unnest(v_ids, v_lows) AS u (lane, low)
                                     WHERE u.low IS NULL)) AND l.returned IS NOT NULL
                                FOR NO KEY UPDATE SKIP LOCKED
                    LOOP
                        v_held := true;
                        UPDATE ojs_lane AS l SET returned = NULL
                         WHERE l.ctid = r.place
                           AND (SELECT true FROM ojs_ready AS z
                                 WHERE z.lane_id = r.id AND z.seq <= r.returned
                                 ORDER BY z.lane_id, z.seq LIMIT 1) IS NULL;
                    END LOOP;
                END IF;

                IF v_got < v_want OR v_ordered THEN
                    -- Some lane held fewer jobs than asked for. One that is empty leaves the index,
                    -- but only if no producer is at work on it: see ojs_wake.
                    FOR r IN SELECT u.lane FROM unnest(v_ids, v_takes) AS u (lane, n)
                              WHERE u.n > 0 AND NOT v_ordered
                                AND (SELECT true FROM ojs_ready AS z WHERE z.lane_id = u.lane
                                      ORDER BY z.lane_id, z.seq LIMIT 1) IS NULL
                              UNION ALL
                             SELECT u.lane FROM unnest(v_empty) AS u (lane)
                              WHERE v_ordered
                                AND (SELECT true FROM ojs_ready AS z WHERE z.lane_id = u.lane
                                      ORDER BY z.lane_id, z.seq LIMIT 1) IS NULL
                    LOOP
                        -- The look comes in a statement of its own: in that of the lock it would go by
                        -- a snapshot from before, and miss who has just committed and let go.
                        CONTINUE WHEN NOT pg_try_advisory_xact_lock(20266603, (r.lane % 128)::int);
                        v_held := true;
                        CONTINUE WHEN EXISTS (SELECT 1 FROM ojs_ready AS z WHERE z.lane_id = r.lane);
                        UPDATE ojs_lane AS l SET active = false, returned = NULL
                          FROM (SELECT m.id FROM ojs_lane AS m WHERE m.id = r.lane AND m.active
                                   FOR NO KEY UPDATE SKIP LOCKED) AS s
                         WHERE l.id = s.id AND l.id = r.lane;
                        IF FOUND THEN  -- who comes back joins at the present virtual time
                            DELETE FROM ojs_debt AS t WHERE t.lane_id = r.lane;
                        END IF;
                    END LOOP;
                END IF;

                v_need := v_need - v_got;
                v_quota := v_quota - v_got;
                IF i = 0 THEN
                    FOREACH v_at IN ARRAY v_spots LOOP
                        v_taken[v_at] := v_taken[v_at] + 1;
                    END LOOP;
                    v_jobs := NULL;
                    EXIT;
                END IF;
                IF v_hinted AND (v_got < v_want OR v_ordered AND v_got = 0) THEN
                    v_hinted := false;  -- jobs may lie below the hint: look again without it
                    v_from_rank := -32768;
                    v_from_vt := '-Infinity';
                ELSIF v_ordered THEN
                    EXIT WHEN v_near IS NULL AND cardinality(v_empty) = 0;  -- others have them all
                    v_barren := v_barren || v_empty
                        || (SELECT array_agg(u.lane) FROM unnest(v_ids, v_takes) AS u (lane, n)
                             WHERE u.n = 0);
                ELSIF v_got = 0 AND v_want > 0 THEN
                    -- Look behind them. What they hold is over or taken, it holds nobody else back.
                    v_barren := v_barren
                        || (SELECT array_agg(u.lane) FROM unnest(v_ids, v_takes) AS u (lane, n)
                             WHERE u.n > 0);
                ELSIF v_got = 0 AND v_full IS NOT NULL THEN
                    -- Its neighbours that count for the same limit: the next claims need not look. Not
                    -- all of them, since all that are marked are opened when a job of them ends.
                    v_at := cardinality(v_full);
                    UPDATE ojs_lane AS l SET blocked_by = v_full[v_at], blocked_until = v_full_until
                      FROM (SELECT m.ctid AS place FROM ojs_lane AS m
                             WHERE m.id = ANY (ARRAY(
                                   SELECT z.id
                                     FROM (SELECT n.id, n.limits FROM ojs_lane AS n
                                            WHERE n.queue = v_home
                                              AND ojs_offered(n.active, n.blocked_by, n.paused)
                                              AND (n.rank, n.vt) >= (v_rank, v_vt)
                                            ORDER BY n.queue, n.rank, n.vt LIMIT 100) AS z
                                    WHERE v_full[v_at] = ANY (z.limits)))
                               AND ojs_offered(m.active, m.blocked_by, m.paused)
                               FOR NO KEY UPDATE SKIP LOCKED) AS s
                     WHERE l.ctid = s.place;
                END IF;
            END LOOP;
            IF v_takes_turns AND i > 0 THEN
                v_taken[i] := v_taken[i] + v_before - v_need;
                -- out of slots is not out of jobs: others gave more than they were asked for at last
                v_is_open[i] := v_moved OR v_taken[i] = v_wants[i] OR v_need <= 0;
                v_stock[i] := CASE WHEN v_is_open[i] THEN NULL ELSE v_taken[i] END;
            END IF;
        END LOOP;
        EXIT WHEN NOT v_takes_turns OR v_need <= 0 AND v_wants = v_taken;
        IF NOT v_visited THEN
            v_stock := v_taken;  -- an owed turn has moved, so that less is asked of one than it gave
        END IF;
    END LOOP;

    IF v_keeps AND cardinality(v_order) > 0 THEN
        PERFORM ojs_turn_keep(v_turn, v_order, v_is_open,
                              CASE WHEN p_strategy = 2 THEN p_weights END,
                              p_tenant IS NOT NULL OR p_refuses, v_now);
    END IF;

    IF v_takes_turns AND v_order[1] <> ANY (v_order) THEN
        turns := v_order;
    END IF;
    IF v_need > 0 THEN
        due := EXISTS (SELECT 1 FROM ojs_later AS x WHERE x.due_at <= v_now);
        FOREACH q IN ARRAY v_homes LOOP
            v_opens := least(v_opens, (SELECT l.blocked_until FROM ojs_lane AS l
                                        WHERE l.queue = q AND l.blocked_until IS NOT NULL
                                        ORDER BY l.queue, l.blocked_until LIMIT 1));
        END LOOP;
        opens_ms := CASE WHEN v_opens IS NOT NULL THEN  -- greatest() passes over nulls
            ceil(extract(epoch FROM greatest(v_opens - clock_timestamp(), '0')) * 1000) END;
        crowded := v_crowded;
        awaits := v_awaits;
    END IF;
    IF due OR opens_ms IS NOT NULL OR crowded IS NOT NULL OR turns IS NOT NULL
       OR awaits IS NOT NULL
    THEN
        RETURN NEXT;
    END IF;
END $$
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_mergejoin = off
SET enable_hashjoin = off
SET jit = off
