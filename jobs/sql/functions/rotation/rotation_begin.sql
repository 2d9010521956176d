-- ojs_rotation_begin: find at a glance which queues of a request have jobs, and read the input of
-- the decision about turns: the stored turns and, if priorities compete, the rank of each queue's
-- best job. `is_on` is false if no queue seems to have jobs; the claim then looks at them in order.
-- Locks: none. The claim holds the lock of the rotation if the turns of one claim depend on
-- another.
CREATE OR REPLACE FUNCTION ojs_rotation_begin(request ojs_request, claim ojs_claim_state)
RETURNS ojs_rotation LANGUAGE plpgsql AS $$
DECLARE
    rotation ojs_rotation;
    v_last int := cardinality(request.queues);
BEGIN
    SELECT o.is_open, o.keys, o.ranks INTO rotation.is_open, rotation.keys, rotation.level_ranks
      FROM ojs_open(request.queues, request.tenant, request.version_keys, request.low_ranks,
                    request.low_vts, request.strategy = 3, request.is_global) AS o;
    rotation.is_on := true = ANY (rotation.is_open);
    IF NOT rotation.is_on THEN
        RETURN rotation;
    END IF;
    rotation.slots := claim.need;
    rotation.taken := array_fill(0, ARRAY[v_last]);
    SELECT array_agg(CASE WHEN NOT x.is_open THEN 0 END ORDER BY x.i) INTO rotation.stock
      FROM unnest(rotation.is_open) WITH ORDINALITY AS x (is_open, i);
    rotation.is_visited := true;
    rotation.is_kept := request.strategy IN (1, 2) OR request.ratio IS NOT NULL;
    IF rotation.is_kept THEN
        rotation.stored := ojs_turn_now(request.rotation, request.queues, rotation.is_open, claim.now);
    END IF;
    IF request.is_global THEN
        SELECT array_agg(i), array_agg(i), array_agg(NULL::int)
          INTO rotation.levels, rotation.level_queues, rotation.level_ends
          FROM generate_series(1, v_last) AS i;
    END IF;
    SELECT o.keys, o.since, o.overdue INTO rotation.keys, rotation.since, rotation.overdue
      FROM ojs_turn_keys(request.strategy, request.queues, rotation.is_open, rotation.keys,
                         rotation.stored, request.ratio, request.rotation_ms, claim.now) AS o;
    RETURN rotation;
END $$
