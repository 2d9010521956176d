-- prune_rotations: delete rotations that no claim used for long.
-- Locks: the removed rows. A concurrent claim of such a rotation starts it again, or keeps it.
DELETE FROM ojs_turn AS t
 WHERE t.ctid = ANY (ARRAY(
       SELECT x.ctid FROM ojs_turn AS x
        WHERE x.at < now() - %(kept_ms)s::bigint * interval '1 millisecond'
        ORDER BY x.at LIMIT %(batch)s::int FOR UPDATE SKIP LOCKED))
RETURNING t.key
