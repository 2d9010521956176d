-- prune_events: remove at most `batch` events from the old end of the record, behind (stamp, seq).
-- Removes an event `age_ms` after it was written, or when `most` newer events were numbered, but
-- never before its aggregation: the counts come from events. Events from `unread` on (null: none)
-- stay for a reader, until `most_unread` newer events were numbered. Returns how many were removed,
-- how many of them were unread, and the position of the last.
-- Locks: the rows; no other statement changes an event, and two loops take them in the same order.
WITH newest AS MATERIALIZED (
    SELECT n.seq FROM ojs_event AS n ORDER BY n.stamp DESC, n.seq DESC LIMIT 1
), looked AS MATERIALIZED (
    SELECT e.ctid, e.stamp, e.seq, coalesce(e.stamp >= %(unread)s::text::xid8, false) AS is_unread,
           (coalesce(e.at < now() - %(age_ms)s::bigint * interval '1 millisecond', false)
            OR coalesce(e.seq <= (SELECT seq FROM newest) - %(most)s::bigint, false))
           AND (coalesce(e.stamp < %(unread)s::text::xid8, true)
                OR e.seq <= (SELECT seq FROM newest) - %(most_unread)s::bigint) AS is_over
      FROM ojs_event AS e
     WHERE (e.stamp, e.seq) > (%(stamp)s::text::xid8, %(seq)s::bigint)
       AND e.stamp < (SELECT p.stamp FROM ojs_fold_position AS p WHERE p.id = 1)
     ORDER BY e.stamp, e.seq LIMIT %(batch)s::int
), over AS MATERIALIZED (
    -- up to the first event that stays: the last position must describe all removed events
    SELECT l.ctid, l.stamp, l.seq, l.is_unread FROM looked AS l
     WHERE (l.stamp, l.seq) < ALL (SELECT s.stamp, s.seq FROM looked AS s WHERE NOT s.is_over
                                    ORDER BY s.stamp, s.seq LIMIT 1)
), gone AS (
    DELETE FROM ojs_event AS e WHERE e.ctid = ANY (ARRAY(SELECT ctid FROM over)) RETURNING e.ctid
)
SELECT (SELECT count(*) FROM gone)::int AS removed,
       (SELECT count(*) FROM gone AS g JOIN over AS o ON o.ctid = g.ctid
         WHERE o.is_unread)::int AS unread,
       last.stamp::text AS stamp, last.seq
  FROM (SELECT o.stamp, o.seq FROM over AS o ORDER BY o.stamp DESC, o.seq DESC LIMIT 1) AS last
