-- queue_without_worker: find queues with available jobs that no live worker takes. A worker that names
-- no queues takes any. A worker that only fetches is live while it gets jobs, and while it has a lease
-- on one; at most 1,000 such leases are read, and 5,000 lanes. `since` is the latest of three times: the
-- oldest job became available, a worker of the queue was last alive, a job started.
WITH waiting AS MATERIALIZED (
    SELECT d.queue, d.jobs FROM ojs_depth AS d
     WHERE d.state = 3 AND d.jobs >= %(min_jobs)s::bigint
       AND NOT EXISTS (SELECT FROM ojs_queue AS q WHERE q.name = d.queue AND q.paused_at IS NOT NULL)
), live AS MATERIALIZED (
    SELECT w.queues FROM ojs_worker AS w
     WHERE w.stopped_at IS NULL AND w.dead_at IS NULL AND greatest(w.directive, w.reported) = 0
       AND w.last_heartbeat_at >= now() - %(silence_ms)s::bigint * interval '1 millisecond'
), served AS MATERIALIZED (
    SELECT DISTINCT x.queue FROM live AS l
     CROSS JOIN LATERAL jsonb_array_elements_text(CASE WHEN jsonb_typeof(l.queues) = 'array'
                                                       THEN l.queues ELSE '[]' END) AS x (queue)
), alone AS MATERIALIZED (
    SELECT w.* FROM waiting AS w
     WHERE NOT EXISTS (SELECT FROM live AS l WHERE jsonb_typeof(l.queues) IS DISTINCT FROM 'array')
       AND NOT EXISTS (SELECT FROM served AS s WHERE s.queue = w.queue)
     ORDER BY w.jobs DESC LIMIT %(most)s::int
), busy AS MATERIALIZED (
    SELECT DISTINCT ojs_queue_of(x.queue) AS queue
      FROM (SELECT l.lane_id FROM ojs_lease AS l
             WHERE EXISTS (SELECT FROM alone) AND l.lease_until > now()
               AND NOT EXISTS (SELECT FROM ojs_worker AS w
                                WHERE w.id = l.worker_id AND w.last_heartbeat_at IS NOT NULL)
             LIMIT 1000) AS l
      JOIN ojs_lane AS x ON x.id = l.lane_id
), lane AS MATERIALIZED (
    SELECT ojs_queue_of(l.queue) AS queue, min(r.enqueued_at) AS oldest_at
      FROM (SELECT x.id, x.queue, x.low FROM ojs_lane AS x
             WHERE x.active AND x.blocked_by IS NULL AND NOT x.paused
               AND EXISTS (SELECT FROM alone) LIMIT 5000) AS l
     CROSS JOIN LATERAL (SELECT x.enqueued_at FROM ojs_ready AS x
                          WHERE x.lane_id = l.id AND x.seq >= l.low - 128
                          ORDER BY x.lane_id, x.seq LIMIT 1) AS r
     GROUP BY 1
), dated AS MATERIALIZED (
    SELECT a.*, o.oldest_at, d.at AS started_at, g.at AS gone_at, g.quiet
      FROM alone AS a
      JOIN lane AS o USING (queue)  -- without one, all lanes of the queue are held back
     CROSS JOIN LATERAL (SELECT max(x.last_at) AS at FROM ojs_dispatch AS x
                          WHERE x.queue = a.queue) AS d
     CROSS JOIN LATERAL (
           SELECT max(coalesce(w.stopped_at, w.dead_at, w.last_heartbeat_at)) FILTER (
                      WHERE NOT (w.stopped_at IS NULL AND w.dead_at IS NULL AND w.directive = 1)) AS at,
                  (array_agg(w.id ORDER BY w.id) FILTER (
                      WHERE w.stopped_at IS NULL AND w.dead_at IS NULL AND w.directive = 1
                        AND w.last_heartbeat_at
                            >= now() - %(silence_ms)s::bigint * interval '1 millisecond'))[1:5] AS quiet
             FROM ojs_worker AS w
            WHERE jsonb_typeof(w.queues) IS DISTINCT FROM 'array' OR w.queues ? a.queue) AS g
)
SELECT d.queue, NULL::text, greatest(d.oldest_at, d.gone_at, d.started_at), d.jobs, NULL::int,
       jsonb_build_object('gone_at', d.gone_at,
                          'quiet', coalesce(to_jsonb(d.quiet), '[]'))::text
  FROM dated AS d
 WHERE NOT EXISTS (SELECT FROM busy AS b WHERE b.queue = d.queue)
   AND greatest(d.oldest_at, d.gone_at, d.started_at) < now() - %(after_s)s::int * interval '1 second'
 ORDER BY d.jobs DESC
