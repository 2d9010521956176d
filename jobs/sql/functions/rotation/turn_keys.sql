-- ojs_turn_keys: return three parameters of ojs_turns from the stored turns, by position of the
-- queues. Reads only. `keys` depend on the strategy; p_depths are `keys` of ojs_open. With
-- starvation prevention (p_ratio is not null), `since` is the number of the dispatch from which
-- each queue waits. `overdue` says whether it has waited for p_rotation_ms. (`since` in ojs_turn is
-- a time instead.)
--
-- A queue is overdue only if a job has also waited that long. Otherwise a queue that no worker
-- requested while it was empty would be overdue at its first job. Only the first jobs of the first
-- hundred lanes count.
CREATE OR REPLACE FUNCTION ojs_turn_keys(
    p_strategy smallint, p_queues text[], p_is_open boolean[], p_depths float8[], p_turn ojs_turn,
    p_ratio float8, p_rotation_ms bigint, p_now timestamptz,
    OUT keys float8[], OUT since bigint[], OUT overdue boolean[]
) LANGUAGE plpgsql AS $$
BEGIN
    IF p_strategy = 0 THEN
        SELECT array_agg(i) INTO keys FROM generate_series(1, cardinality(p_queues)) AS i;
    ELSIF p_strategy = 1 THEN
        keys := p_turn.served;
    ELSIF p_strategy = 2 THEN
        keys := p_turn.vts;
    ELSE
        keys := p_depths;
    END IF;
    IF p_ratio IS NULL THEN
        RETURN;
    END IF;
    SELECT array_agg(greatest(x.served, x.opened) ORDER BY x.i),
           array_agg(CASE WHEN x.is_open AND x.since <= z.ago THEN coalesce((
               SELECT min(h.enqueued_at) <= z.ago
                 FROM (SELECT l.id FROM ojs_lane AS l
                        WHERE l.queue = x.queue AND ojs_offered(l.active, l.blocked_by, l.paused)
                        ORDER BY l.queue, l.rank, l.vt LIMIT 100) AS l
                CROSS JOIN LATERAL (
                      SELECT r.enqueued_at FROM ojs_ready AS r WHERE r.lane_id = l.id
                       ORDER BY r.lane_id, r.seq LIMIT 1) AS h), false)
           ELSE false END ORDER BY x.i)
      INTO since, overdue
      FROM unnest(p_queues, p_is_open, p_turn.served, p_turn.opened, p_turn.since)
           WITH ORDINALITY AS x (queue, is_open, served, opened, since, i)
     CROSS JOIN (SELECT p_now - p_rotation_ms * interval '1 millisecond' AS ago) AS z;
END $$
