-- ojs_ends: return the ended jobs of a queue (null: of all) by kind (terminal codes, 9 for the dead
-- letter), in no order. They ended from `p_since` on and before `p_until`, beyond the place
-- (`p_at`, `p_after`). The function returns the first `p_looked` of them, with the latest end first
-- or last.
--
-- It walks each queue in the index of `ojs_finished` and merges the walks: first a few rows of each
-- queue. If the merge uses the last row of a walk, that walk may have more rows that belong to the
-- result. Then the function repeats all walks, four times as far, but not beyond the last merged
-- row.
--
-- The first walks read twice as many rows of each queue as an even share of the result, with several
-- kinds four times as many: jobs of a kind are spread over the queues more evenly than over the kinds.
--
-- So the number of rows read grows with `p_looked` and hardly with the number of queues: a round
-- reads at most five times as many rows. There are as many rounds as powers of four below the
-- number of queues.
CREATE OR REPLACE FUNCTION ojs_ends(
    p_queue text, p_kinds smallint[], p_since timestamptz, p_until timestamptz, p_at timestamptz,
    p_after uuid, p_ascending boolean, p_looked int)
RETURNS TABLE (id uuid, queue text, finished_at timestamptz) LANGUAGE plpgsql STABLE ROWS 1000 AS $$
#variable_conflict use_column
DECLARE
    v_low timestamptz := coalesce(p_since, '-infinity');
    v_high timestamptz := 'infinity';
    v_until timestamptz := coalesce(p_until, 'infinity');
    v_at timestamptz := coalesce(p_at, CASE WHEN p_ascending THEN '-infinity'::timestamptz
                                               ELSE 'infinity' END);
    v_after uuid := coalesce(p_after, CASE WHEN p_ascending
                                           THEN '00000000-0000-0000-0000-000000000000'::uuid
                                           ELSE 'ffffffff-ffff-ffff-ffff-ffffffffffff' END);
    v_taken int;  -- of each walk
    v_first timestamptz;
    v_last timestamptz;
    v_jobs int;
    v_is_open boolean;
    v_ids uuid[];
    v_queues text[];
    v_ends timestamptz[];
BEGIN
    SELECT CASE WHEN cardinality(p_kinds) = 1 THEN 2 ELSE 4 END
           * p_looked / greatest(count(*) * cardinality(p_kinds), 1) + 1 INTO v_taken
      FROM ojs_queue AS q WHERE p_queue IS NULL OR q.name = p_queue;
    LOOP
        v_taken := least(v_taken, p_looked);
        SELECT array_agg(m.id), array_agg(m.queue), array_agg(m.finished_at), count(*),
               bool_or(m.n = v_taken), min(m.finished_at), max(m.finished_at)
          INTO v_ids, v_queues, v_ends, v_jobs, v_is_open, v_first, v_last
          FROM (SELECT w.id, w.queue, w.finished_at, w.n
                  FROM (SELECT q.name FROM ojs_queue AS q
                         WHERE p_queue IS NULL OR q.name = p_queue) AS q
                 CROSS JOIN unnest(p_kinds) AS k (kind)
                 CROSS JOIN LATERAL (
                       (SELECT f.id, f.queue, f.finished_at,
                               row_number() OVER (ORDER BY f.finished_at DESC, f.id DESC) AS n
                          FROM ojs_finished AS f
                         WHERE NOT p_ascending AND f.queue = q.name AND f.kind = k.kind
                           AND f.finished_at >= v_low AND f.finished_at < v_until
                           AND (f.finished_at, f.id) < (v_at, v_after)
                         ORDER BY f.finished_at DESC, f.id DESC LIMIT v_taken)
                       UNION ALL
                       (SELECT f.id, f.queue, f.finished_at,
                               row_number() OVER (ORDER BY f.finished_at, f.id) AS n
                          FROM ojs_finished AS f
                         WHERE p_ascending AND f.queue = q.name AND f.kind = k.kind
                           AND f.finished_at >= v_low AND f.finished_at < v_until
                           AND f.finished_at <= v_high
                           AND (f.finished_at, f.id) > (v_at, v_after)
                         ORDER BY f.finished_at, f.id LIMIT v_taken)) AS w
                 ORDER BY CASE WHEN p_ascending THEN w.finished_at END,
                          CASE WHEN NOT p_ascending THEN w.finished_at END DESC,
                          CASE WHEN p_ascending THEN w.id END,
                          CASE WHEN NOT p_ascending THEN w.id END DESC
                 LIMIT p_looked) AS m;
        EXIT WHEN v_taken >= p_looked OR NOT coalesce(v_is_open, false);
        IF v_jobs = p_looked AND p_ascending THEN
            v_high := v_last;
        ELSIF v_jobs = p_looked THEN
            v_low := v_first;
        END IF;
        v_taken := 4 * v_taken;
    END LOOP;
    RETURN QUERY SELECT * FROM unnest(v_ids, v_queues, v_ends);
END $$
