-- ojs_outlook: predict the turns that queues would get if claims came now, and return the load and
-- the workers of pools. Reads only.
--
-- It calls the functions of the claim (ojs_open, ojs_turn_now, ojs_turn_keys, ojs_turns) under the
-- claim's planner settings. Two differences from a claim remain. A claim finds out how many jobs a
-- queue has when it takes them; this function counts them, and treats a hundred or more as any
-- number. It does not see limits that no claim has reached. A test compares its turns with those of
-- a claim.
--
-- Parameters:
--   p_pools       the pools whose active jobs it counts.
--   p_plans       the claims whose turns it computes, as objects {key, queues, tenant, strategy,
--                 weights, ratio, rotation_ms, is_global}.
--   p_queue       the queue for `asking`; null: any.
--   p_slots       the number of turns to predict. If priorities compete over queues, it assumes that
--                 each queue has only jobs of its highest priority.
--   p_silence_ms  the silence after which a worker counts as gone.
--
-- Returns a JSON object:
--   terms   the configuration version.
--   active  by pool, the number of active jobs.
--   crews   by pool: `running`, the workers that are alive and not quiet; `asking`, the number of
--           these that fetch p_queue or do not name their queues.
--   turns   by plan, an object with these members. Arrays are by position of the plan's queues.
--     is_open     the queue has jobs.
--     is_owed     the queue has waited so long that starvation prevention owes it a turn.
--     dispatched  the number of turns so far.
--     waits       the number of turns since the queue's last turn, or since it began to have jobs.
--     order       the positions of the queues that get the next turns.
CREATE OR REPLACE FUNCTION ojs_outlook(
    p_pools text[], p_plans jsonb, p_queue text, p_slots int, p_silence_ms bigint
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_turns jsonb := '[]';
    v_is_open boolean[];
    v_depths float8[];
    v_turn ojs_turn;
    v_keys float8[];
    v_since bigint[];
    v_overdue boolean[];
    v_rooms int[];
    v_has boolean[];
    v_is_owed boolean[];
    v_others bigint[];
    v_last_keys float8[];
    v_last int;
    v_ranks smallint[];
    v_levels int[];
    r record;
BEGIN
    -- Plans of the same queues share one search: pools often have the same queues.
    FOR r IN WITH plan AS MATERIALIZED (
                  SELECT x.*
                    FROM ROWS FROM (jsonb_to_recordset(p_plans)
                         AS (key text, queues text[], tenant text, strategy smallint,
                             weights float8[], ratio float8, rotation_ms bigint, is_global boolean))
                         WITH ORDINALITY AS x (key, queues, tenant, strategy, weights, ratio,
                                               rotation_ms, is_global, number)),
             searched AS MATERIALIZED (
                  SELECT d.*, o.*
                    FROM (SELECT DISTINCT p.queues, p.tenant, p.is_global FROM plan AS p) AS d
                   CROSS JOIN LATERAL ojs_open(d.queues, d.tenant, NULL, '{}', '{}', true,
                                               d.is_global) AS o)
             SELECT p.*, s.is_open, s.keys AS depths, s.ranks
               FROM plan AS p
               JOIN searched AS s ON (s.queues, s.is_global) = (p.queues, p.is_global)
                                 AND s.tenant IS NOT DISTINCT FROM p.tenant
              ORDER BY p.number
    LOOP
        v_last := cardinality(r.queues);
        v_is_open := r.is_open;
        v_depths := r.depths;
        v_ranks := r.ranks;
        v_levels := NULL;
        IF r.is_global THEN
            SELECT array_agg(i) INTO v_levels FROM generate_series(1, v_last) AS i;
        END IF;
        v_turn := ojs_turn_now(r.key, r.queues, v_is_open, v_now);
        SELECT k.keys, k.since, k.overdue INTO v_keys, v_since, v_overdue
          FROM ojs_turn_keys(r.strategy, r.queues, v_is_open, v_depths, v_turn, r.ratio,
                             r.rotation_ms, v_now) AS k;
        SELECT array_agg(CASE WHEN NOT x.is_open THEN 0
                              WHEN x.depth > -100 AND NOT EXISTS (
                                   SELECT 1 FROM ojs_lane AS l  -- a claim would open this lane
                                    WHERE l.queue = x.queue AND l.blocked_until <= v_now)
                              THEN -x.depth END ORDER BY x.i)
          INTO v_rooms
          FROM unnest(r.queues, v_is_open, v_depths) WITH ORDINALITY AS x (queue, is_open, depth, i);
        SELECT array_agg(x.is_open AND coalesce(x.room > 0, true) ORDER BY x.i) INTO v_has
          FROM unnest(v_is_open, v_rooms) WITH ORDINALITY AS x (is_open, room, i);
        v_is_owed := array_fill(false, ARRAY[v_last]);
        IF r.ratio IS NOT NULL THEN
            -- Put the queue last in the strategy's order, and let all other queues have waited for
            -- no turn. If it still gets the next turn, starvation prevention owes it that turn.
            FOR i IN 1 .. v_last LOOP
                CONTINUE WHEN NOT v_has[i];
                v_others := array_fill(v_turn.seq, ARRAY[v_last]);
                v_others[i] := v_since[i];
                v_last_keys := v_keys;
                v_last_keys[i] := 'Infinity';
                v_is_owed[i] := coalesce((ojs_turns(
                    r.strategy, 1, v_rooms, v_last_keys, r.weights, r.ratio, v_others, v_overdue,
                    v_turn.seq, v_levels, array_fill(NULL::int, ARRAY[v_last]), v_ranks))[1] = i, false);
            END LOOP;
        END IF;
        v_turns := v_turns || jsonb_build_object(
            'is_open', v_has, 'is_owed', v_is_owed, 'dispatched', v_turn.seq,
            'waits', (SELECT jsonb_agg(v_turn.seq - greatest(x.served, x.opened) ORDER BY x.i)
                        FROM unnest(v_turn.served, v_turn.opened)
                             WITH ORDINALITY AS x (served, opened, i)),
            'order', ojs_turns(r.strategy, p_slots, v_rooms, v_keys, r.weights, r.ratio, v_since,
                               v_overdue, v_turn.seq, v_levels, array_fill(NULL::int, ARRAY[v_last]),
                               v_ranks));
    END LOOP;
    RETURN jsonb_build_object(
        'terms', (SELECT t.version FROM ojs_terms AS t WHERE t.id = 1),
        'turns', v_turns,
        'active', (SELECT coalesce(jsonb_object_agg(x.pool, n.jobs), '{}')
                     FROM unnest(p_pools) AS x (pool)
                    CROSS JOIN LATERAL (SELECT count(*) AS jobs FROM ojs_lease AS y
                                         WHERE y.pool = x.pool) AS n),
        'crews', (SELECT coalesce(jsonb_agg(to_jsonb(n)), '[]')
                    FROM (SELECT w.pool, count(*) AS running,
                                 count(*) FILTER (WHERE p_queue IS NULL
                                     OR jsonb_typeof(w.queues) IS DISTINCT FROM 'array'
                                     OR w.queues = '[]' OR w.queues ? p_queue) AS asking
                            FROM ojs_worker AS w
                           WHERE w.stopped_at IS NULL AND w.dead_at IS NULL
                             AND greatest(w.directive, w.reported) = 0
                             AND (w.last_heartbeat_at IS NULL OR w.last_heartbeat_at
                                  >= v_now - p_silence_ms * interval '1 millisecond')
                           GROUP BY w.pool) AS n));
END $$
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_mergejoin = off
SET enable_hashjoin = off
SET jit = off
