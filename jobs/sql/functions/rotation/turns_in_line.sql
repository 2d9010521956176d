-- ojs_turns_in_line: return the same as ojs_turns without prevention and levels, but faster for
-- many slots of many queues. It reads no table.
--
-- It sorts the queues once, by their first keys, into `v_line`. Of n slots, only the first n queues
-- of this list can get one. Each slot goes to the next queue of the list, or to a queue that
-- already had a turn (`v_again`), whichever has the smaller key.
CREATE OR REPLACE FUNCTION ojs_turns_in_line(
    p_strategy smallint, p_limit int, p_rooms int[], p_keys float8[], p_weights float8[], p_seq bigint
) RETURNS int[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_rooms int[] := p_rooms;
    v_keys float8[] := p_keys;
    v_order int[] := '{}';
    v_line int[];
    v_next int := 1;
    v_farthest float8;
    v_again int[] := '{}';  -- queues that had a turn and may get another
    v_at int;
    v_best int;
    v_least float8;
BEGIN
    SELECT coalesce(array_agg(x.i), '{}'),
           CASE count(*) WHEN p_limit THEN max(x.key) ELSE 'Infinity' END
      INTO v_line, v_farthest
      FROM (SELECT z.i, z.key FROM unnest(v_keys, v_rooms) WITH ORDINALITY AS z (key, room, i)
             WHERE z.room IS NULL OR z.room > 0
             ORDER BY z.key, z.i LIMIT p_limit) AS x;
    FOR n IN 1 .. p_limit LOOP
        v_best := v_line[v_next];
        v_least := coalesce(v_keys[v_best], 'Infinity');
        FOREACH v_at IN ARRAY v_again LOOP
            IF v_keys[v_at] < v_least OR v_keys[v_at] = v_least AND v_at < v_best THEN
                v_best := v_at;
                v_least := v_keys[v_at];
            END IF;
        END LOOP;
        EXIT WHEN v_best IS NULL;
        v_order := v_order || v_best;
        v_rooms[v_best] := v_rooms[v_best] - 1;
        IF p_strategy = 1 THEN
            v_keys[v_best] := p_seq + n;
        ELSIF p_strategy = 2 THEN
            v_keys[v_best] := v_keys[v_best] + 1 / p_weights[v_best];
        ELSIF p_strategy = 3 THEN
            v_keys[v_best] := v_keys[v_best] + 1;
        END IF;
        IF v_rooms[v_best] = 0 THEN
            v_keys[v_best] := 'Infinity';
        END IF;
        IF v_best = v_line[v_next] THEN
            v_next := v_next + 1;
            IF v_keys[v_best] <= v_farthest THEN
                v_again := v_again || v_best;
            END IF;
        END IF;
    END LOOP;
    RETURN v_order;
END $$
