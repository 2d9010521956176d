-- ojs_explain: what a claim would find about one job now, as one JSON object; reads only.
--
-- It goes by the claim's own words (ojs_offered, ojs_fresh, ojs_in_force, ojs_usage, ojs_joined,
-- ojs_raised) and takes the lanes in the claim's order, under the claim's planner settings: lanes with
-- the same virtual time come as their index holds them. A test compares both in random stores.
--
-- Parameters: p_most bounds what is counted and looked at in each lane, p_lanes how many lanes are;
-- a worker that was silent for p_silence_ms is not alive; rates are of the last p_minutes.
--
-- `position` is there for an available job: `own` jobs before it in its lane, `others` of its queue
-- that single claims would take before it if nothing else happened, with `more` where the count
-- ended at its bound. `tied`: lanes that a claim is about to open at the same virtual time; which of
-- them comes first is told by nothing.
CREATE OR REPLACE FUNCTION ojs_explain(
    p_job uuid, p_most int, p_lanes int, p_silence_ms bigint, p_minutes int
) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_lane_id bigint;
    v_seq bigint;
    v_name text COLLATE "C";
    v_queue ojs_queue;
    v_key ojs_lane_key;
    v_lane ojs_lane;
    v_reopens boolean;  -- the next claim opens the lane
    v_facts jsonb;
    v_own int;
    v_looked int;
    v_others bigint := 0;
    v_more boolean;
    v_tied int := 0;
    v_ids bigint[];  -- lanes of the queue in the claim's order
    v_ranks smallint[];
    v_vts float8[];
    v_weights float8[];
    v_reopen boolean[];
    v_vt float8;
    v_upto float8;  -- the virtual time at which the job is next
    v_behind boolean := false;  -- past the job's own lane
    v_ties boolean;
    v_seen bigint[] := '{}';
    v_rooms int[] := '{}';
    v_limit bigint;
    v_room int;
    v_at int;
    v_takes float8;
    v_number int;
BEGIN
    SELECT coalesce(x.lane_id, y.lane_id, z.lane_id, j.lane_id), y.seq, j.queue
      INTO v_lane_id, v_seq, v_name
      FROM ojs_job AS j
      LEFT JOIN ojs_lease AS x ON x.id = j.id
      LEFT JOIN ojs_ready AS y ON y.id = j.id
      LEFT JOIN ojs_later AS z ON z.id = j.id
     WHERE j.id = p_job;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT k.* INTO v_key FROM ojs_lane_key AS k WHERE k.id = v_lane_id;
    SELECT l.* INTO v_lane FROM ojs_lane AS l WHERE l.id = v_lane_id;
    SELECT u.* INTO v_queue FROM ojs_queue AS u WHERE u.name = v_name;
    v_reopens := coalesce(v_lane.blocked_until <= v_now, false);

    v_facts := jsonb_build_object(
        'now', v_now,
        'is_known', v_queue.name IS NOT NULL,
        'paused_at', v_queue.paused_at,
        'is_draining', v_queue.draining,
        'maintenance', (SELECT jsonb_build_object('since', m.started_at, 'until', m.ends_at,
                                                  'reason', m.reason)
                          FROM ojs_maintenance AS m WHERE ojs_in_force(m.ends_at)),
        'lane', CASE WHEN v_key.id IS NOT NULL THEN jsonb_build_object(
            'id', v_key.id, 'priority', v_key.priority, 'boost', coalesce(v_lane.boost, 0),
            'effective_priority', coalesce(-v_lane.rank, v_key.priority),
            'route', coalesce(v_lane.route, v_key.route)) END,
        'is_apart', coalesce(v_lane.queue <> v_name, false),
        'is_paused', coalesce(v_lane.paused, false),
        'is_blocked', v_lane.blocked_by IS NOT NULL AND NOT v_reopens,
        'is_offered', coalesce(ojs_offered(v_lane.active, CASE WHEN v_reopens THEN NULL
                                           ELSE v_lane.blocked_by END, v_lane.paused), false),
        'expired', (SELECT NOT ojs_fresh(e.expires_at, v_now)
                      FROM (SELECT y.expires_at FROM ojs_ready AS y WHERE y.id = p_job
                            UNION ALL
                            SELECT z.expires_at FROM ojs_later AS z WHERE z.id = p_job) AS e),
        'limits', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                       'id', m.id, 'kind', m.kind, 'tenant', m.tenant, 'key', m.key,
                       'room', o.room, 'opens_at', o.opens_at, 'strategy', o.strategy,
                       'policy', o.policy, 'active', o.active, 'started', o.started,
                       'blocks', m.id = v_lane.blocked_by AND NOT v_reopens,
                       'blocked_until', CASE WHEN m.id = v_lane.blocked_by
                                             THEN v_lane.blocked_until END)
                       ORDER BY x.n), '[]')
                     FROM unnest(v_queue.limit_id || coalesce(v_lane.limits, v_key.limits, '{}'))
                          WITH ORDINALITY AS x (id, n)
                     JOIN ojs_limit AS m ON m.id = x.id
                    CROSS JOIN LATERAL ojs_usage(m, v_now) AS o),
        'workers', (SELECT jsonb_build_object(
                        'serving', count(*) FILTER (WHERE w.is_here AND w.runs),
                        'quiet', count(*) FILTER (WHERE w.is_here AND NOT w.runs),
                        'unsaid', count(*) FILTER (WHERE w.is_here IS NULL AND w.runs),
                        'elsewhere', count(*) FILTER (WHERE NOT w.is_here AND w.runs))
                      FROM (SELECT CASE WHEN jsonb_typeof(w.queues) = 'array'
                                        THEN w.queues ? v_name END AS is_here,
                                   greatest(w.directive, w.reported) = 0 AS runs
                              FROM ojs_worker AS w
                             WHERE w.stopped_at IS NULL AND w.dead_at IS NULL
                               AND (w.last_heartbeat_at IS NULL OR w.last_heartbeat_at
                                    >= v_now - p_silence_ms * interval '1 millisecond')) AS w),
        'started', (SELECT coalesce(sum(n.started), 0) FROM ojs_period AS n
                     WHERE n.span_s = 60 AND n.at > v_now - p_minutes * interval '1 minute'
                       AND n.queue = v_name),
        'decision', (SELECT jsonb_build_object('at', e.at, 'worker_id', e.worker_id,
                                               'attempt', e.attempt, 'waited_ms', e.took_ms)
                       FROM (SELECT s.* FROM ojs_event AS s WHERE s.job_id = p_job OFFSET 0) AS e
                      WHERE e.kind = 3 ORDER BY e.stamp DESC, e.seq DESC LIMIT 1));
    IF v_seq IS NULL OR v_lane.id IS NULL THEN
        RETURN v_facts;
    END IF;

    SELECT count(*) FILTER (WHERE ojs_fresh(y.expires_at, v_now)), count(*)
      INTO v_own, v_looked
      FROM (SELECT z.expires_at FROM ojs_ready AS z
             WHERE z.lane_id = v_lane_id AND z.seq < v_seq
             ORDER BY z.lane_id, z.seq LIMIT p_most) AS y;
    v_more := v_looked >= p_most;
    -- The claim first opens lanes whose limit has opened by itself: see ojs_claim.
    WITH opens AS MATERIALIZED (
        SELECT row_number() OVER () AS n, o.*
          FROM (SELECT l.id, l.rank, l.weight, l.ordered, l.timed, l.scope,
                       l.vt + CASE WHEN l.scope IS NULL THEN 0 ELSE
                              greatest(ojs_served(l.scope, l.rank, l.tenant) - l.paid, 0) END AS vt,
                       ojs_offered(l.active, NULL, l.paused) AS is_offered
                  FROM ojs_lane AS l
                 WHERE l.queue = v_lane.queue AND l.blocked_until <= v_now
                 ORDER BY l.queue, l.blocked_until LIMIT 100) AS o
    ), waits AS (
        SELECT row_number() OVER (ORDER BY o.id) AS n, o.*,
               CASE WHEN o.scope IS NOT NULL THEN ojs_served(o.scope, o.rank, o.tenant) END AS served
          FROM (SELECT l.id, l.rank, l.vt, l.weight, l.scope, l.tenant, l.paid FROM ojs_lane AS l
                 WHERE l.queue = v_lane.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
                   AND l.rank <= v_lane.rank
                 ORDER BY l.queue, l.rank, l.vt LIMIT p_lanes) AS o
    ), lanes AS (
        -- the claim raises those of a scope before it goes by them: see ojs_settle
        SELECT w.n, false AS reopens, w.id, w.rank,
               CASE WHEN w.scope IS NULL THEN w.vt ELSE ojs_raised(
                   w.vt, w.paid, w.weight, w.served,
                   min(w.vt + greatest(w.served - w.paid, 0)) OVER (PARTITION BY w.rank)) END AS vt,
               w.weight
          FROM waits AS w
         UNION ALL
        SELECT p_lanes + o.n, true, o.id, o.rank,
               CASE WHEN o.ordered THEN o.vt ELSE ojs_joined(o.vt, o.weight, o.timed, coalesce(
                   CASE WHEN o.scope IS NOT NULL
                        THEN ojs_present_shared(o.scope, v_lane.queue, o.rank) END,
                   (SELECT m.vt FROM ojs_lane AS m
                     WHERE m.queue = v_lane.queue AND m.rank = o.rank
                       AND ojs_offered(m.active, m.blocked_by, m.paused)
                     ORDER BY m.queue, m.rank, m.vt LIMIT 1),
                   first_value(o.vt) OVER (PARTITION BY o.rank ORDER BY o.n))) END, o.weight
          FROM opens AS o WHERE o.is_offered AND o.rank <= v_lane.rank
    )
    SELECT array_agg(l.id ORDER BY l.rank, l.vt, l.n), array_agg(l.rank ORDER BY l.rank, l.vt, l.n),
           array_agg(l.vt ORDER BY l.rank, l.vt, l.n),
           array_agg(l.weight ORDER BY l.rank, l.vt, l.n),
           array_agg(l.reopens ORDER BY l.rank, l.vt, l.n),
           max(l.vt) FILTER (WHERE l.id = v_lane_id),
           v_more OR count(*) FILTER (WHERE NOT l.reopens) >= p_lanes
      INTO v_ids, v_ranks, v_vts, v_weights, v_reopen, v_vt, v_more
      FROM lanes AS l;
    -- a lane that is held back comes in at the present virtual time, once it is offered
    v_vt := coalesce(v_vt, CASE WHEN v_lane.ordered THEN v_seq ELSE ojs_rejoin(v_lane) END);
    v_upto := CASE WHEN v_lane.ordered THEN v_seq ELSE v_vt + v_own / v_lane.weight END;

    FOR k IN 1 .. coalesce(cardinality(v_ids), 0) LOOP
        IF v_ids[k] = v_lane_id THEN
            v_behind := true;
            CONTINUE;
        END IF;
        v_takes := p_most;
        v_ties := false;
        IF v_ranks[k] = v_lane.rank THEN
            EXIT WHEN v_vts[k] > v_upto;
            v_ties := v_own = 0 AND v_vts[k] = v_vt AND (v_reopens OR v_reopen[k])
                      AND NOT v_lane.ordered;
            v_takes := (v_upto - v_vts[k]) * v_weights[k];
            v_takes := CASE WHEN v_behind THEN ceil(v_takes) ELSE floor(v_takes) + 1 END;
            IF v_lane.ordered THEN
                SELECT count(*) INTO v_takes
                  FROM (SELECT z.expires_at FROM ojs_ready AS z
                         WHERE z.lane_id = v_ids[k] AND z.seq < v_seq
                         ORDER BY z.lane_id, z.seq LIMIT p_most) AS y
                 WHERE ojs_fresh(y.expires_at, v_now);
            END IF;
        END IF;
        CONTINUE WHEN v_takes <= 0 AND NOT v_ties;
        v_room := NULL;
        FOREACH v_limit IN ARRAY coalesce((SELECT l.limits FROM ojs_lane AS l
                                            WHERE l.id = v_ids[k]), '{}') LOOP
            IF v_limit <> ALL (v_seen) THEN
                v_seen := v_seen || v_limit;
                v_rooms := v_rooms || (SELECT o.room FROM ojs_limit AS m
                                        CROSS JOIN LATERAL ojs_usage(m, v_now) AS o
                                        WHERE m.id = v_limit);
            END IF;
            v_room := least(v_room, v_rooms[array_position(v_seen, v_limit)]);
        END LOOP;
        CONTINUE WHEN v_room = 0;
        v_takes := CASE WHEN v_ties THEN 1 ELSE least(v_takes, v_room, p_most - v_others) END;
        SELECT count(*) INTO v_number
          FROM (SELECT 1 FROM (SELECT z.expires_at FROM ojs_ready AS z WHERE z.lane_id = v_ids[k]
                                ORDER BY z.lane_id, z.seq LIMIT p_most) AS y
                 WHERE ojs_fresh(y.expires_at, v_now) LIMIT v_takes::bigint) AS x;
        IF v_ties THEN
            v_tied := v_tied + v_number;
            CONTINUE;
        END IF;
        v_others := v_others + v_number;
        IF v_room IS NOT NULL THEN
            FOREACH v_limit IN ARRAY (SELECT l.limits FROM ojs_lane AS l WHERE l.id = v_ids[k]) LOOP
                v_at := array_position(v_seen, v_limit);
                v_rooms[v_at] := v_rooms[v_at] - v_number;
            END LOOP;
        END IF;
        IF v_others >= p_most THEN
            v_more := true;
            EXIT;
        END IF;
    END LOOP;
    RETURN v_facts || jsonb_build_object('position', jsonb_build_object(
        'own', v_own, 'own_more', v_looked >= p_most, 'others', v_others, 'more', v_more,
        'tied', v_tied));
END $$
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_mergejoin = off
SET enable_hashjoin = off
SET jit = off
