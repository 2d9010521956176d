-- oldest: the available jobs of a queue that wait longest, at most `number`. Members of workflows and
-- others that an extension follows are left: whoever drops them waits for what whoever ends them
-- holds when it enqueues to this queue. At most 500 of them are looked past in a lane.
SELECT r.id, j.bytes
  FROM ojs_lane AS l
 CROSS JOIN LATERAL (
       SELECT z.id, z.seq FROM ojs_ready AS z WHERE z.lane_id = l.id
        ORDER BY z.lane_id, z.seq LIMIT %(number)s::int + 500) AS r
 CROSS JOIN LATERAL (
       SELECT j.watched, j.bytes FROM ojs_job AS j WHERE j.id = r.id LIMIT 1) AS j
 WHERE ojs_queue_of(l.queue) = %(queue)s::text AND l.active AND NOT j.watched
 ORDER BY r.seq LIMIT %(number)s::int
