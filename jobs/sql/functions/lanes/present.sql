-- ojs_present: return the virtual time of the next lane of a queue and rank; null: no lane waits.
CREATE OR REPLACE FUNCTION ojs_present(p_queue text, p_rank smallint) RETURNS float8
LANGUAGE sql STABLE AS $$
    SELECT m.vt FROM ojs_lane AS m
     WHERE m.queue = p_queue COLLATE "C" AND m.rank = p_rank
       AND ojs_offered(m.active, m.blocked_by, m.paused)
     ORDER BY m.queue, m.rank, m.vt LIMIT 1
$$
