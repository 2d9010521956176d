-- ojs_unique_hits: return the stored jobs that new jobs with these fingerprints may hit, by
-- fingerprint and age.
--
-- Parameters, one entry for each distinct fingerprint: p_keys in hex; p_states: the states that
-- count, as bits (1 << code); p_periods_ms: the window from the stored job's creation (null: none).
-- Locks: the fingerprints' stripes (exclusive, in order). Stripes, because ten thousand locks of
-- one transaction exceed PostgreSQL's lock table. The read after the lock has a snapshot of its
-- own, so it sees the rows of the transaction that held the lock before. So the function must stay
-- VOLATILE. In REPEATABLE READ it would not see these rows.
--
-- It reads all live jobs. Ended jobs may be many, so it reads only the newest job of each state: no
-- other ended job can matter. `ojs_unique.ended` marks the state for that read. The function sets
-- the mark on ended jobs that lack it, under the lock of the job's row: otherwise a manual retry
-- could come between.
CREATE OR REPLACE FUNCTION ojs_unique_hits(
    p_keys text[], p_states int[], p_periods_ms bigint[]
) RETURNS TABLE (n int, id uuid, state int, created_at timestamptz, scheduled_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_unnoted uuid[] := '{}';
    r record;
BEGIN
    PERFORM pg_advisory_xact_lock(20266608, s.stripe)
       FROM (SELECT DISTINCT ('x' || left(k, 3))::bit(12)::int % 1024 AS stripe
               FROM unnest(p_keys) AS k ORDER BY 1) AS s;
    FOR r IN
        SELECT k.n::int AS n, k.states, h.*
          FROM unnest(p_keys, p_states, p_periods_ms)
               WITH ORDINALITY AS k (key, states, period_ms, n)
         CROSS JOIN LATERAL (
               SELECT u.job_id, u.created_at, u.ended, j.scheduled_at,
                      coalesce(j.state, CASE WHEN a.id IS NOT NULL THEN 3
                                             WHEN l.id IS NOT NULL THEN 4
                                             ELSE w.kind END)::int AS state
                 FROM (
                      (SELECT u.job_id, u.created_at, u.ended FROM ojs_unique AS u
                        WHERE u.fingerprint = decode(k.key, 'hex') AND u.ended IS NULL)
                      UNION ALL
                      (SELECT e.job_id, e.created_at, e.ended
                         FROM generate_series(6, 8) AS t (code)
                        CROSS JOIN LATERAL (
                              SELECT u.job_id, u.created_at, u.ended FROM ojs_unique AS u
                               WHERE u.fingerprint = decode(k.key, 'hex') AND u.ended = t.code
                               ORDER BY u.created_at DESC LIMIT 1) AS e
                        WHERE (k.states >> t.code) & 1 = 1)
                      ) AS u
                 JOIN ojs_job AS j ON j.id = u.job_id
                 LEFT JOIN ojs_ready AS a ON a.id = u.job_id
                 LEFT JOIN ojs_lease AS l ON l.id = u.job_id
                 LEFT JOIN ojs_later AS w ON w.id = u.job_id
                WHERE k.period_ms IS NULL
                   OR u.created_at + k.period_ms * interval '1 millisecond' > now()
               ) AS h
         ORDER BY k.n, h.created_at, h.job_id
    LOOP
        IF r.ended IS NULL AND r.state >= 6 THEN
            v_unnoted := v_unnoted || r.job_id;
        END IF;
        IF (r.states >> r.state) & 1 = 1 THEN
            n := r.n;
            id := r.job_id;
            state := r.state;
            created_at := r.created_at;
            scheduled_at := r.scheduled_at;
            RETURN NEXT;
        END IF;
    END LOOP;
    -- a few more reads cost less than writing the marks
    IF cardinality(v_unnoted) > 8 THEN
        WITH held AS MATERIALIZED (
            SELECT j.id, j.state FROM ojs_job AS j
             WHERE j.id = ANY (v_unnoted) AND j.state IS NOT NULL FOR SHARE SKIP LOCKED
        )
        UPDATE ojs_unique AS u SET ended = h.state FROM held AS h WHERE u.job_id = h.id;
    END IF;
END $$
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_mergejoin = off
SET enable_hashjoin = off
SET jit = off
