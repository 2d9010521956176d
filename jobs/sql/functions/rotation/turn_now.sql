-- ojs_turn_now: return the stored turns of a key, by position of p_queues. A queue that was empty
-- and now has jobs begins to wait now. Its virtual time is raised to the smallest of the other open
-- queues, so it cannot catch up on turns that it missed while it was empty. A larger virtual time
-- stays.
-- Locks: none. A claim holds the lock of the rotation, so no other claim changes the turns.
-- ojs_outlook only predicts, and needs no lock.
-- Spec: fair-scheduling 7.3, 8.2.
CREATE OR REPLACE FUNCTION ojs_turn_now(
    p_key text, p_queues text[], p_is_open boolean[], p_now timestamptz
) RETURNS ojs_turn LANGUAGE plpgsql AS $$
DECLARE
    t ojs_turn;
    v_vt float8;
BEGIN
    -- Read the index from its end: the latest row then comes before all dead rows that a held
    -- snapshot keeps.
    SELECT * INTO t FROM ojs_turn AS x
     WHERE x.key = p_key ORDER BY x.key DESC, x.seq DESC LIMIT 1;
    IF NOT FOUND THEN
        t.key := p_key;
        t.seq := 0;
        t.floor := 0;
        t.queues := '{}';
        t.served := '{}';
        t.opened := '{}';
        t.vts := '{}';
        t.is_open := '{}';
        t.since := '{}';
    END IF;
    IF t.queues IS DISTINCT FROM p_queues THEN
        SELECT array_agg(coalesce(x.served, 0) ORDER BY q.i),
               array_agg(coalesce(x.opened, 0) ORDER BY q.i),
               array_agg(coalesce(x.vt, 0) ORDER BY q.i),
               array_agg(coalesce(x.is_open, false) ORDER BY q.i),
               array_agg(coalesce(x.since, p_now) ORDER BY q.i)
          INTO t.served, t.opened, t.vts, t.is_open, t.since
          FROM unnest(p_queues) WITH ORDINALITY AS q (name, i)
          LEFT JOIN unnest(t.queues, t.served, t.opened, t.vts, t.is_open, t.since)
                    AS x (name, served, opened, vt, is_open, since) ON x.name = q.name;
        t.queues := p_queues;
    END IF;
    IF t.is_open = p_is_open THEN
        RETURN t;
    END IF;
    IF t.is_open @> ARRAY[true] THEN
        SELECT min(x.vt) INTO v_vt
          FROM unnest(t.vts, t.is_open, p_is_open) AS x (vt, was_open, is_open)
         WHERE x.was_open AND x.is_open;
    END IF;
    v_vt := coalesce(v_vt, t.floor);
    FOR i IN 1 .. cardinality(p_queues) LOOP
        IF p_is_open[i] AND NOT t.is_open[i] THEN
            t.opened[i] := t.seq;
            t.vts[i] := greatest(t.vts[i], v_vt);
            t.since[i] := p_now;
        END IF;
    END LOOP;
    RETURN t;
END $$
