-- oldest: the available jobs of a queue that wait longest, at most `number`. Watched jobs, such as
-- members of workflows, are left out. Their drop would lock the workflow; a transaction that ends a
-- member holds this lock and may enqueue to this queue, a deadlock. At most 500 watched jobs per lane
-- are skipped.
SELECT r.id, j.bytes
  FROM ojs_lane AS l
 CROSS JOIN LATERAL (
       SELECT z.id, z.seq FROM ojs_ready AS z WHERE z.lane_id = l.id
        ORDER BY z.lane_id, z.seq LIMIT %(number)s::int + 500) AS r
 CROSS JOIN LATERAL (
       SELECT j.watched, j.bytes FROM ojs_job AS j WHERE j.id = r.id LIMIT 1) AS j
 WHERE ojs_queue_of(l.queue) = %(queue)s::text AND l.active AND NOT j.watched
 ORDER BY r.seq LIMIT %(number)s::int
