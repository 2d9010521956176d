-- prune_turns: forget where turns stand that nobody has taken for long.
-- Locks: the removed rows; a claim that takes such turns just now begins them anew, or keeps them.
DELETE FROM ojs_turn AS t
 WHERE t.ctid = ANY (ARRAY(
       SELECT x.ctid FROM ojs_turn AS x
        WHERE x.at < now() - %(kept_ms)s::bigint * interval '1 millisecond'
        ORDER BY x.at LIMIT %(batch)s::int FOR UPDATE SKIP LOCKED))
RETURNING t.key
