-- waiting: how many available jobs some version keys have in each queue.
-- Jobs are counted up to `most` in a lane and in up to `lanes` lanes of a version key. The lanes of
-- version keys are read by ojs_lane_key_route, which no claim writes to.
SELECT r.route, x.queue, sum(x.jobs)::int AS jobs, now()
  FROM unnest(%(routes)s::int[]) AS r (route)
 CROSS JOIN LATERAL (
       SELECT k.queue, z.jobs
         FROM (SELECT k.id, k.queue FROM ojs_lane_key AS k
                WHERE k.route = r.route AND k.route > 0
                ORDER BY k.route LIMIT %(lanes)s::int) AS k
        CROSS JOIN LATERAL (
              SELECT count(*) AS jobs
                FROM (SELECT 1 FROM ojs_ready AS y WHERE y.lane_id = k.id
                       ORDER BY y.lane_id, y.seq LIMIT %(most)s::int) AS counted) AS z
        WHERE z.jobs > 0) AS x
 GROUP BY r.route, x.queue
 ORDER BY r.route, jobs DESC, x.queue
