-- offer: offer a paused lane again, at the virtual time of the other lanes: at its old virtual time it
-- would get all starts that it missed. See functions/lanes/rejoin.sql.
-- Locks: the lane.
WITH held AS MATERIALIZED (
    SELECT l.id, l.queue FROM ojs_lane AS l WHERE l.id = %(id)s::bigint AND l.paused FOR NO KEY UPDATE
), offered AS (
    UPDATE ojs_lane AS l
       SET paused = false, vt = CASE WHEN l.active THEN ojs_rejoin(l) ELSE l.vt END
      FROM held AS h WHERE l.id = h.id AND l.id = %(id)s::bigint
    RETURNING h.queue
)
SELECT pg_notify('ojs_ready', o.queue) FROM offered AS o
