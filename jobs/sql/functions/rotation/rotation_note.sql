-- ojs_rotation_note: record the jobs that the claim's queue gave. p_needed is how many jobs the
-- claim needed before. A queue that gave less than its turns ask for has no more jobs. If its best
-- job now has another rank (`is_moved`), that rank decides the next turns: a new level.
CREATE OR REPLACE FUNCTION ojs_rotation_note(
    rotation ojs_rotation, claim ojs_claim_state, p_needed int
) RETURNS ojs_rotation LANGUAGE plpgsql AS $$
DECLARE
    i int := claim.position;
    v_taken int[] := rotation.taken;
    v_pick ojs_pick;
BEGIN
    IF i = 0 THEN
        IF claim.picks IS NOT NULL THEN
            FOREACH v_pick IN ARRAY claim.picks LOOP
                v_taken[v_pick.position] := v_taken[v_pick.position] + 1;
            END LOOP;
            rotation.taken := v_taken;
            rotation.is_visited := true;
        END IF;
        RETURN rotation;
    END IF;
    v_taken[i] := v_taken[i] + p_needed - claim.need;
    IF claim.is_moved THEN
        rotation.level_ends[rotation.levels[i]] := v_taken[i];
        rotation.level_queues := rotation.level_queues || i;
        rotation.level_ends := rotation.level_ends || NULL::int;
        rotation.level_ranks := rotation.level_ranks || claim.rank;
        rotation.levels[i] := cardinality(rotation.level_ranks);
    END IF;
    -- A queue without a free slot is not out of jobs: other queues gave more than the last turns
    -- asked for.
    rotation.is_open[i] := coalesce(claim.is_moved, false) OR v_taken[i] = rotation.wants[i]
                           OR claim.need <= 0;
    rotation.stock[i] := CASE WHEN NOT rotation.is_open[i] THEN v_taken[i] END;
    rotation.taken := v_taken;
    rotation.is_visited := true;
    RETURN rotation;
END $$
