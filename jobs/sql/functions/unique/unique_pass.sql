-- ojs_unique_pass: return the drafts that the enqueue stores, which are the drafts whose
-- fingerprints hit no stored job, and store the fingerprints. enqueue.sql calls it.
--
-- Each fingerprint may occur in `p_drafts` once. With p_checked it may occur more often: the caller
-- has checked under the locks of ojs_unique_hits in this transaction. For a draft that hits, the
-- answer has only `n`, `hit` and `hit_state`, of the newest hit. If all drafts with a hit have
-- `unique_ignores`, the other drafts pass. Otherwise the function returns only the hits, and the
-- caller stores nothing.
-- Locks: the locks of ojs_unique_hits.
CREATE OR REPLACE FUNCTION ojs_unique_pass(p_drafts json, p_checked boolean) RETURNS json
LANGUAGE plpgsql STRICT AS $$
DECLARE
    v_hits jsonb;  -- by the draft's n: the newest hit
    v_all_ignore boolean;
BEGIN
    IF NOT p_checked THEN
        WITH asked AS MATERIALIZED (
            SELECT row_number() OVER (ORDER BY d.n) AS place, d.*
              FROM json_to_recordset(p_drafts)
                AS d (n int, unique_key text, unique_states int, unique_ms bigint,
                      unique_ignores boolean)
             WHERE d.unique_key IS NOT NULL
        ), hit AS (
            SELECT DISTINCT ON (h.n) h.n, h.id, h.state
              FROM (SELECT array_agg(a.unique_key ORDER BY a.place) AS keys,
                           array_agg(a.unique_states ORDER BY a.place) AS states,
                           array_agg(a.unique_ms ORDER BY a.place) AS periods_ms
                      FROM asked AS a) AS q
             CROSS JOIN LATERAL ojs_unique_hits(q.keys, q.states, q.periods_ms) AS h
             ORDER BY h.n, h.created_at DESC, h.id DESC
        )
        SELECT jsonb_object_agg(a.n, jsonb_build_object('n', a.n, 'hit', h.id, 'hit_state', h.state)),
               bool_and(a.unique_ignores)
          INTO v_hits, v_all_ignore
          FROM hit AS h JOIN asked AS a ON a.place = h.n;
    END IF;
    IF v_hits IS NOT NULL THEN
        SELECT json_agg(coalesce(v_hits -> (d.value ->> 'n'), d.value::jsonb)) INTO p_drafts
          FROM json_array_elements(p_drafts) AS d
         WHERE v_all_ignore OR v_hits ? (d.value ->> 'n');
    END IF;
    INSERT INTO ojs_unique (job_id, fingerprint, created_at)
    SELECT d.id, decode(d.unique_key, 'hex'), now()
      FROM json_to_recordset(p_drafts) AS d (id uuid, unique_key text, hit uuid)
     WHERE d.unique_key IS NOT NULL AND d.hit IS NULL;
    RETURN p_drafts;
END $$
