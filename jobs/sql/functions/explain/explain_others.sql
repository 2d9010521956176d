-- ojs_explain_others: return how many jobs of other lanes single claims would take before a job if
-- nothing else happened, as members of ojs_explain's `position`: others, more, tied. Reads only.
--
-- p_lane: the row of the job's lane. p_seq: the job's place. p_own: the number of jobs before it in
-- this lane. p_most and p_lanes as in ojs_explain.
CREATE OR REPLACE FUNCTION ojs_explain_others(
    p_lane ojs_lane, p_seq bigint, p_own int, p_most int, p_lanes int, p_now timestamptz
) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_lane record;
    v_others bigint := 0;
    v_more boolean := false;
    v_tied int := 0;
    v_upto float8;  -- the virtual time at which the job is next
    v_own_vt float8;
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
    FOR v_lane IN SELECT o.id, o.rank, o.vt, o.weight, o.limits, o.reopens,
                         max(o.vt) FILTER (WHERE o.id = p_lane.id) OVER () AS own_vt,
                         count(*) FILTER (WHERE NOT o.reopens) OVER () AS looked
                    FROM ojs_explain_lanes(p_lane, p_lanes, p_now) WITH ORDINALITY
                         AS o (id, rank, vt, weight, limits, reopens, n)
                   ORDER BY o.n
    LOOP
        IF v_upto IS NULL THEN
            v_more := v_lane.looked >= p_lanes;
            -- a blocked lane joins at the present virtual time as soon as it is offered
            v_own_vt := coalesce(v_lane.own_vt,
                                 CASE WHEN p_lane.ordered THEN p_seq ELSE ojs_rejoin(p_lane) END);
            v_upto := CASE WHEN p_lane.ordered THEN p_seq ELSE v_own_vt + p_own / p_lane.weight END;
        END IF;
        IF v_lane.id = p_lane.id THEN
            v_behind := true;
            CONTINUE;
        END IF;
        v_takes := p_most;
        v_ties := false;
        IF v_lane.rank = p_lane.rank THEN
            EXIT WHEN v_lane.vt > v_upto;
            v_ties := p_own = 0 AND v_lane.vt = v_own_vt AND NOT p_lane.ordered
                      AND (v_lane.reopens OR coalesce(p_lane.blocked_until <= p_now, false));
            v_takes := (v_upto - v_lane.vt) * v_lane.weight;
            v_takes := CASE WHEN v_behind THEN ceil(v_takes) ELSE floor(v_takes) + 1 END;
            IF p_lane.ordered THEN
                SELECT count(*) INTO v_takes
                  FROM (SELECT ojs_claimable(z, p_now) AS is_claimable FROM ojs_ready AS z
                         WHERE z.lane_id = v_lane.id AND z.seq < p_seq
                         ORDER BY z.lane_id, z.seq LIMIT p_most) AS y
                 WHERE y.is_claimable;
            END IF;
        END IF;
        CONTINUE WHEN v_takes <= 0 AND NOT v_ties;
        v_room := NULL;
        FOREACH v_limit IN ARRAY coalesce(v_lane.limits, '{}') LOOP
            IF v_limit <> ALL (v_seen) THEN
                v_seen := v_seen || v_limit;
                v_rooms := v_rooms || (SELECT o.room FROM ojs_limit AS m
                                        CROSS JOIN LATERAL ojs_usage(m, p_now) AS o
                                        WHERE m.id = v_limit);
            END IF;
            v_room := least(v_room, v_rooms[array_position(v_seen, v_limit)]);
        END LOOP;
        CONTINUE WHEN v_room = 0;
        v_takes := CASE WHEN v_ties THEN 1 ELSE least(v_takes, v_room, p_most - v_others) END;
        SELECT count(*) INTO v_number
          FROM (SELECT 1 FROM (SELECT ojs_claimable(z, p_now) AS is_claimable FROM ojs_ready AS z
                                WHERE z.lane_id = v_lane.id
                                ORDER BY z.lane_id, z.seq LIMIT p_most) AS y
                 WHERE y.is_claimable LIMIT v_takes::bigint) AS x;
        IF v_ties THEN
            v_tied := v_tied + v_number;
            CONTINUE;
        END IF;
        v_others := v_others + v_number;
        IF v_room IS NOT NULL THEN
            FOREACH v_limit IN ARRAY v_lane.limits LOOP
                v_at := array_position(v_seen, v_limit);
                v_rooms[v_at] := v_rooms[v_at] - v_number;
            END LOOP;
        END IF;
        IF v_others >= p_most THEN
            v_more := true;
            EXIT;
        END IF;
    END LOOP;
    RETURN jsonb_build_object('others', v_others, 'more', v_more, 'tied', v_tied);
END $$
