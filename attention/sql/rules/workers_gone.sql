-- workers_gone: compare the live workers with the usual number of the last hour: the 90th percentile of
-- its minutes with workers. A deployment replaces workers, so their number stays. Workers that stopped
-- in order are no finding unless as many jobs wait: an autoscaler stops workers that have no work.
-- Of the workers that ended, only the latest count, as many as there are too few: others were replaced.
-- `since` is the end of the worker with which too few were left.
WITH worker AS MATERIALIZED (
    SELECT w.id, w.started_at, w.hostname, w.stopped_at IS NOT NULL AS is_stopped,
           CASE WHEN w.stopped_at IS NOT NULL THEN w.stopped_at
                WHEN w.dead_at IS NOT NULL
                  OR w.last_heartbeat_at < now() - %(silence_ms)s::bigint * interval '1 millisecond'
                THEN w.last_heartbeat_at END AS ended_at
      FROM ojs_worker AS w WHERE w.last_heartbeat_at > now() - interval '2 hours'
     ORDER BY w.last_heartbeat_at DESC LIMIT 5000
), usual AS MATERIALIZED (
    SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY m.workers) AS workers
      FROM (SELECT n, count(*) AS workers
              FROM generate_series(1, 60) AS n
              JOIN worker AS w
                ON w.started_at <= now() - n * interval '1 minute'
               AND (w.ended_at IS NULL OR w.ended_at > now() - n * interval '1 minute')
             GROUP BY n) AS m
), counted AS MATERIALIZED (
    SELECT u.workers AS usual, a.live, l.died, l.stopped, l.ended,
           floor(u.workers * (100 - %(percent)s::int) / 100.0)::int AS most_left
      FROM usual AS u
     CROSS JOIN (SELECT count(*) AS live FROM worker AS w WHERE w.ended_at IS NULL) AS a
     CROSS JOIN LATERAL (
           SELECT count(*) FILTER (WHERE NOT e.is_stopped) AS died,
                  count(*) FILTER (WHERE e.is_stopped) AS stopped,
                  array_agg(e.ended_at ORDER BY e.ended_at DESC) AS ended
             FROM (SELECT w.ended_at, w.is_stopped FROM worker AS w
                    WHERE w.ended_at > now() - interval '1 hour'
                    ORDER BY w.ended_at DESC LIMIT greatest(0, u.workers - a.live)) AS e) AS l
), waiting AS MATERIALIZED (
    SELECT coalesce(sum(d.jobs), 0)::bigint AS jobs FROM ojs_depth AS d WHERE d.state = 3
)
SELECT 'workers', NULL::text,
       c.ended[greatest(1, least(cardinality(c.ended), c.most_left - c.live + 1))],
       w.jobs, 0,
       jsonb_build_object('usual', c.usual, 'live', c.live, 'died', c.died, 'stopped', c.stopped,
           'host', (SELECT mode() WITHIN GROUP (ORDER BY w.hostname) FROM worker AS w
                     WHERE w.ended_at > now() - interval '1 hour'))::text
  FROM counted AS c CROSS JOIN waiting AS w
 WHERE c.usual >= %(min_workers)s::int AND c.live <= c.most_left AND c.died + c.stopped > 0
   AND (c.died >= c.usual - c.most_left OR w.jobs >= c.usual - c.live)
