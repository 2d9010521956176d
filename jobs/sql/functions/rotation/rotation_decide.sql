-- ojs_rotation_decide: decide all turns of a claim from the present findings, and how many jobs
-- each queue gives in total. `is_agreed`: the jobs taken so far match these turns. p_need: how many
-- jobs the claim still needs.
CREATE OR REPLACE FUNCTION ojs_rotation_decide(
    request ojs_request, p_need int, rotation ojs_rotation
) RETURNS ojs_rotation LANGUAGE plpgsql AS $$
DECLARE
    v_at int;
    v_wants int[] := array_fill(0, ARRAY[cardinality(request.queues)]);
BEGIN
    IF NOT rotation.is_visited THEN
        -- No queue has more jobs for these turns, but a queue gave more than they ask for: an owed
        -- turn has moved. Keep the jobs that each queue gave, so that the next turns agree.
        rotation.stock := rotation.taken;
    END IF;
    rotation.turn_order := ojs_turns(
        request.strategy, rotation.slots, rotation.stock, rotation.keys, request.weights,
        request.ratio, rotation.since, rotation.overdue, (rotation.stored).seq,
        rotation.level_queues, rotation.level_ends, rotation.level_ranks);
    FOREACH v_at IN ARRAY rotation.turn_order LOOP
        v_wants[v_at] := v_wants[v_at] + 1;
    END LOOP;
    rotation.wants := v_wants;
    rotation.is_agreed := v_wants = rotation.taken;
    rotation.is_visited := false;
    rotation.first := CASE WHEN p_need < rotation.slots OR request.tenant IS NOT NULL
                                OR v_wants[rotation.turn_order[1]] = rotation.slots
                           THEN 1 ELSE 0 END;
    RETURN rotation;
END $$
