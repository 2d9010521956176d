-- ojs_rotation_note: record how many jobs the queue gave that the claim has just looked at.
-- p_needed is `need` of the claim before the look. A queue that gave fewer jobs than its turns ask
-- for has no more jobs, with two exceptions. Its head may have another rank than the rotation
-- assumed (`has_other_rank`): the function then adds a level, by which the next turns are decided.
-- Or the claim needs no more jobs.
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
            rotation.has_looked := true;
        END IF;
        RETURN rotation;
    END IF;
    v_taken[i] := v_taken[i] + p_needed - claim.need;
    IF claim.has_other_rank THEN
        rotation.level_ends[rotation.levels[i]] := v_taken[i];
        rotation.level_queues := rotation.level_queues || i;
        rotation.level_ends := rotation.level_ends || NULL::int;
        rotation.level_ranks := rotation.level_ranks || claim.rank;
        rotation.levels[i] := cardinality(rotation.level_ranks);
    END IF;
    -- If the claim needs no more jobs, the queue may still have some: other queues gave more jobs
    -- than the latest turns ask for.
    rotation.is_open[i] := coalesce(claim.has_other_rank, false) OR v_taken[i] = rotation.wants[i]
                           OR claim.need <= 0;
    rotation.stock[i] := CASE WHEN NOT rotation.is_open[i] THEN v_taken[i] END;
    rotation.taken := v_taken;
    rotation.has_looked := true;
    RETURN rotation;
END $$
