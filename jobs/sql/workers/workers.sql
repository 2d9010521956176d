-- workers: by name, with the number of jobs each holds; only live workers unless `with_ended`.
-- `standing` as on the wire, null: any; `containing` is a part of the name or the host. The list
-- continues after (`after_rank`, `after_id`) where these are not null.
WITH known AS MATERIALIZED (
    SELECT w.*, coalesce(w.last_heartbeat_at
                         < now() - %(silence_ms)s::bigint * interval '1 millisecond', false)
               AS is_silent,
           2 * (w.stopped_at IS NOT NULL)::int + (w.dead_at IS NOT NULL)::int AS rank
      FROM ojs_worker AS w
     WHERE (%(with_ended)s::boolean OR w.stopped_at IS NULL AND w.dead_at IS NULL)
       AND (%(id)s::text IS NULL OR w.id = %(id)s::text)
       AND (%(pool)s::text IS NULL OR w.pool = %(pool)s::text)
       AND (%(tenant)s::text IS NULL OR w.tenant = %(tenant)s::text)
       AND (%(containing)s::text IS NULL OR strpos(w.id, %(containing)s::text) > 0
            OR strpos(w.hostname, %(containing)s::text) > 0)
), named AS MATERIALIZED (
    SELECT k.*, CASE WHEN k.stopped_at IS NOT NULL THEN 'terminate'
                     WHEN k.is_silent OR k.dead_at IS NOT NULL THEN 'stale'
                     WHEN greatest(k.reported, k.directive) = 2 THEN 'terminate'
                     WHEN greatest(k.reported, k.directive) = 1 THEN 'quiet'
                     ELSE 'running' END AS standing
      FROM known AS k
), page AS MATERIALIZED (
    SELECT n.* FROM named AS n
     WHERE (%(standing)s::text IS NULL OR n.standing = %(standing)s::text)
       AND (%(after_rank)s::int IS NULL OR (n.rank, n.id) > (%(after_rank)s::int, %(after_id)s::text))
     ORDER BY n.rank, n.id
    OFFSET %(offset)s::int LIMIT %(size)s::int
), held AS MATERIALIZED (  -- read once at most, not once for each worker
    SELECT l.worker_id, count(*) AS jobs FROM ojs_lease AS l
     WHERE l.worker_id = ANY (ARRAY(SELECT p.id FROM page AS p)) GROUP BY l.worker_id
)
SELECT n.id, n.hostname, n.pid, n.queues::text AS queues, n.concurrency, n.pool, n.reported,
       n.directive, n.started_at, n.last_heartbeat_at, n.dead_at, n.stopped_at,
       coalesce(h.jobs, 0) AS active, n.is_silent,
       n.is_draining, n.labels::text AS labels, n.standing, n.tenant,
       n.declaration::text AS declaration
  FROM page AS n LEFT JOIN held AS h ON h.worker_id = n.id
 ORDER BY n.rank, n.id
