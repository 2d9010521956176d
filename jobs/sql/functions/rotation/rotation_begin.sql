-- ojs_rotation_begin: find out which queues of a request seem to have jobs, and read the data by
-- which ojs_turns decides. These are the stored turns and, if priorities compete over queues, the
-- rank of each queue's best job. `is_on` is false if no queue seems to have jobs. The claim then
-- looks at the queues in the order of the request.
-- Locks: none. If the turns depend on those of earlier claims, the claim holds the rotation's lock.
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
    rotation.turn_count := claim.need;
    rotation.taken := array_fill(0, ARRAY[v_last]);
    SELECT array_agg(CASE WHEN NOT x.is_open THEN 0 END ORDER BY x.i) INTO rotation.stock
      FROM unnest(rotation.is_open) WITH ORDINALITY AS x (is_open, i);
    rotation.has_looked := true;
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
