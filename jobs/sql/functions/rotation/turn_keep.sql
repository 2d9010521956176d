-- ojs_turn_keep: store which queues had the turns of a claim, and which queues still seem to have
-- jobs. p_turn has the stored turns before the claim, p_order the position of the queue of each
-- turn. A claim of one tenant or of some version keys (p_is_narrow) does not see all jobs of a
-- queue, so it never marks a queue as empty.
-- Locks: none of its own. The claim holds the lock of the rotation, so no other claim stores turns.
CREATE OR REPLACE FUNCTION ojs_turn_keep(
    p_turn ojs_turn, p_order int[], p_is_open boolean[], p_weights float8[], p_is_narrow boolean,
    p_now timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    t ojs_turn := p_turn;
    o ojs_turn;
    -- Separate variables change in place; PL/pgSQL copies a member of a row at each change.
    v_served bigint[] := t.served;
    v_since timestamptz[] := t.since;
    v_vts float8[] := t.vts;
    v_at int;
BEGIN
    FOREACH v_at IN ARRAY p_order LOOP
        t.seq := t.seq + 1;
        v_served[v_at] := t.seq;
        v_since[v_at] := p_now;
        IF p_weights IS NOT NULL THEN
            t.floor := greatest(t.floor, v_vts[v_at]);
            v_vts[v_at] := v_vts[v_at] + 1 / p_weights[v_at];
        END IF;
    END LOOP;
    t.served := v_served;
    t.since := v_since;
    t.vts := v_vts;
    IF p_is_narrow THEN
        SELECT array_agg(x.now OR x.before ORDER BY x.i) INTO t.is_open
          FROM unnest(p_is_open, t.is_open) WITH ORDINALITY AS x (now, before, i);
    ELSE
        t.is_open := p_is_open;
    END IF;
    DELETE FROM ojs_turn AS x WHERE x.key = p_turn.key AND x.seq = p_turn.seq RETURNING * INTO o;
    IF o.queues <> p_turn.queues THEN
        -- Keep the values of the rotation's queues that this claim did not request.
        SELECT t.queues || array_agg(x.name), t.served || array_agg(x.served),
               t.opened || array_agg(x.opened), t.vts || array_agg(x.vt),
               t.is_open || array_agg(x.is_open), t.since || array_agg(x.since)
          INTO t.queues, t.served, t.opened, t.vts, t.is_open, t.since
          FROM unnest(o.queues, o.served, o.opened, o.vts, o.is_open, o.since)
               AS x (name, served, opened, vt, is_open, since)
         WHERE x.name <> ALL (p_turn.queues);
    END IF;
    INSERT INTO ojs_turn (key, seq, queues, served, opened, vts, is_open, since, floor, at)
    VALUES (t.key, t.seq, t.queues, t.served, t.opened, t.vts, t.is_open, t.since, t.floor, p_now);
END $$
