-- ojs_explain: return, as one JSON object, the findings of a claim about one job now. Reads only.
--
-- It uses the same functions as the claim (ojs_offered, ojs_claimable, ojs_in_force, ojs_usage,
-- ojs_joined, ojs_raised), the claim's order of lanes and its planner settings. Lanes with equal
-- virtual times come in the order of their index. A test compares both in random stores.
--
-- Parameters: p_most bounds the jobs counted in each lane, p_lanes the number of lanes. A worker
-- that was silent for p_silence_ms is not alive. Rates are of the last p_minutes.
--
-- An available job has a `position`: `own` jobs before it in its lane, and `others` of its queue
-- that single claims would take before it if nothing else happened. `more`: the count ended at its
-- bound. `tied`: jobs of lanes that a claim is about to open at the same virtual time; the order of
-- these lanes is undefined.
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
    v_facts jsonb;
    v_others jsonb;
    v_own int;
    v_looked int;
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
    v_facts := ojs_explain_facts(p_job, v_name, v_queue, v_key, v_lane,
                                 coalesce(v_lane.blocked_until <= v_now, false), p_silence_ms,
                                 p_minutes, v_now);
    IF v_seq IS NULL OR v_lane.id IS NULL THEN
        RETURN v_facts;
    END IF;

    SELECT count(*) FILTER (WHERE y.is_claimable), count(*)
      INTO v_own, v_looked
      FROM (SELECT ojs_claimable(z, v_now) AS is_claimable FROM ojs_ready AS z
             WHERE z.lane_id = v_lane_id AND z.seq < v_seq
             ORDER BY z.lane_id, z.seq LIMIT p_most) AS y;
    v_others := ojs_explain_others(v_lane, v_seq, v_own, p_most, p_lanes, v_now);
    RETURN v_facts || jsonb_build_object('position', v_others || jsonb_build_object(
        'own', v_own, 'own_more', v_looked >= p_most,
        'more', v_looked >= p_most OR (v_others ->> 'more')::boolean));
END $$
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_mergejoin = off
SET enable_hashjoin = off
SET jit = off
