-- ojs_rotation_decide: decide all turns of a claim, from the jobs that its queues have as far as
-- the claim knows (`stock`). `wants` is then the number of jobs that each queue shall give in
-- total. `is_final`: the queues have given just these jobs. p_need: how many more jobs the claim
-- may hand out.
CREATE OR REPLACE FUNCTION ojs_rotation_decide(
    request ojs_request, p_need int, rotation ojs_rotation
) RETURNS ojs_rotation LANGUAGE plpgsql AS $$
DECLARE
    v_at int;
    v_wants int[] := array_fill(0, ARRAY[cardinality(request.queues)]);
BEGIN
    IF NOT rotation.has_looked THEN
        -- The last round looked at no queue, but some queue gave more jobs than it now has turns: an
        -- owed turn has moved to another queue. Bound each queue by the jobs that it gave, so that
        -- the next turns agree with them.
        rotation.stock := rotation.taken;
    END IF;
    rotation.turn_order := ojs_turns(
        request.strategy, rotation.turn_count, rotation.stock, rotation.keys, request.weights,
        request.ratio, rotation.since, rotation.overdue, (rotation.stored).seq,
        rotation.level_queues, rotation.level_ends, rotation.level_ranks);
    FOREACH v_at IN ARRAY rotation.turn_order LOOP
        v_wants[v_at] := v_wants[v_at] + 1;
    END LOOP;
    rotation.wants := v_wants;
    rotation.is_final := v_wants = rotation.taken;
    rotation.has_looked := false;
    -- The common statement for queues with a single lane (position 0) runs only until the claim has
    -- given a job. It would save nothing if one queue has all turns, and it cannot search the lanes
    -- of a tenant.
    rotation.first_position := CASE
        WHEN p_need < rotation.turn_count OR request.tenant IS NOT NULL
             OR v_wants[rotation.turn_order[1]] = rotation.turn_count THEN 1 ELSE 0 END;
    RETURN rotation;
END $$
