-- ojs_turns: return the queue of each of p_limit slots, decided slot by slot. It reads no table.
--
-- Arrays are by position of the queues. p_rooms: how many jobs a queue has (null: any number); this
-- is `stock` of ojs_rotation under its name of release 0.2.0. p_keys: the sort key of each queue.
-- The queue with the smallest key is next, and of equal keys the first queue. The key depends on
-- p_strategy:
--   0 strict: the position; 1 round-robin: the number of the queue's last dispatch;
--   2 weighted: its virtual time; 3 least-loaded: minus its number of jobs.
--
-- p_ratio: the share of dispatches that starvation prevention guarantees each queue (null: none). A
-- queue is owed a turn early enough that all open queues can get theirs in time, or if p_overdue is
-- true. Owed queues come first, and of these the queue that has waited longest. p_since is the
-- number of the dispatch from which a queue waits, p_seq that of the latest dispatch.
--
-- p_level_queues, p_level_ends, p_level_ranks: the levels (see ojs_rotation); null: priorities do
-- not compete over queues. The strategy then chooses only among the queues whose next job has the
-- smallest rank. A queue is at its first level until it has given the jobs of this level, then at
-- its next level.
-- Spec: fair-scheduling 7, 8.
CREATE OR REPLACE FUNCTION ojs_turns(
    p_strategy smallint, p_limit int, p_rooms int[], p_keys float8[], p_weights float8[],
    p_ratio float8, p_since bigint[], p_overdue boolean[], p_seq bigint,
    p_level_queues int[] DEFAULT NULL, p_level_ends int[] DEFAULT NULL,
    p_level_ranks smallint[] DEFAULT NULL
) RETURNS int[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_rooms int[] := p_rooms;
    v_keys float8[] := p_keys;
    v_since bigint[] := p_since;
    v_overdue boolean[] := p_overdue;
    v_seq bigint := p_seq;
    v_last int := cardinality(p_rooms);
    v_order int[] := '{}';
    v_open int;
    v_best int;
    v_least float8;
    v_longest bigint;
    v_ranks smallint[];
    v_ends int[];
    v_given int[];
    v_top smallint;
BEGIN
    IF p_ratio IS NULL AND p_level_ranks IS NULL AND p_limit * v_last > 1000 THEN
        RETURN ojs_turns_in_line(p_strategy, p_limit, p_rooms, p_keys, p_weights, p_seq);
    END IF;
    IF p_ratio IS NOT NULL THEN
        SELECT count(*) INTO v_open FROM unnest(p_rooms) AS room WHERE room IS NULL OR room > 0;
    END IF;
    IF p_level_ranks IS NOT NULL THEN
        v_given := array_fill(0, ARRAY[v_last]);
        v_ranks := array_fill(NULL::smallint, ARRAY[v_last]);
        v_ends := array_fill(0, ARRAY[v_last]);
        FOR l IN 1 .. cardinality(p_level_ranks) LOOP
            IF v_ends[p_level_queues[l]] = 0 THEN
                v_ranks[p_level_queues[l]] := p_level_ranks[l];
                v_ends[p_level_queues[l]] := p_level_ends[l];
            END IF;
        END LOOP;
    END IF;
    FOR n IN 1 .. p_limit LOOP
        v_best := NULL;
        IF p_ratio IS NOT NULL THEN
            v_longest := -1;
            FOR i IN 1 .. v_last LOOP
                -- v_open: if all open queues have the same deadline, each needs a turn before it.
                IF (v_rooms[i] IS NULL OR v_rooms[i] > 0) AND v_seq - v_since[i] > v_longest
                   AND (v_overdue[i] OR (v_seq - v_since[i] + v_open) * p_ratio >= 1 - 1e-9)
                THEN
                    v_best := i;
                    v_longest := v_seq - v_since[i];
                END IF;
            END LOOP;
        END IF;
        IF v_best IS NULL AND p_level_ranks IS NOT NULL THEN
            v_top := 32767;
            v_least := 'Infinity';
            FOR i IN 1 .. v_last LOOP
                IF (v_rooms[i] IS NULL OR v_rooms[i] > 0)
                   AND (v_ranks[i] < v_top OR v_ranks[i] = v_top AND v_keys[i] < v_least)
                THEN
                    v_best := i;
                    v_top := v_ranks[i];
                    v_least := v_keys[i];
                END IF;
            END LOOP;
        ELSIF v_best IS NULL THEN
            v_least := 'Infinity';
            FOR i IN 1 .. v_last LOOP
                IF v_keys[i] < v_least AND (v_rooms[i] IS NULL OR v_rooms[i] > 0) THEN
                    v_best := i;
                    v_least := v_keys[i];
                END IF;
            END LOOP;
        END IF;
        EXIT WHEN v_best IS NULL;
        v_seq := v_seq + 1;
        v_order := v_order || v_best;
        v_rooms[v_best] := v_rooms[v_best] - 1;
        IF v_rooms[v_best] = 0 THEN
            v_open := v_open - 1;
        END IF;
        IF p_strategy = 1 THEN
            v_keys[v_best] := v_seq;
        ELSIF p_strategy = 2 THEN
            v_keys[v_best] := v_keys[v_best] + 1 / p_weights[v_best];
        ELSIF p_strategy = 3 THEN
            v_keys[v_best] := v_keys[v_best] + 1;
        END IF;
        IF p_ratio IS NOT NULL THEN
            v_since[v_best] := v_seq;
            v_overdue[v_best] := false;
        END IF;
        IF p_level_ranks IS NOT NULL THEN
            v_given[v_best] := v_given[v_best] + 1;
            IF v_given[v_best] = v_ends[v_best] THEN
                FOR l IN 1 .. cardinality(p_level_ranks) LOOP
                    IF p_level_queues[l] = v_best
                       AND (p_level_ends[l] IS NULL OR p_level_ends[l] > v_given[v_best])
                    THEN
                        v_ranks[v_best] := p_level_ranks[l];
                        v_ends[v_best] := p_level_ends[l];
                        EXIT;
                    END IF;
                END LOOP;
            END IF;
        END IF;
    END LOOP;
    RETURN v_order;
END $$
