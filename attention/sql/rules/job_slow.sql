-- job_slow: find types with jobs that run far beyond the usual time of their type and queue.
-- The usual time is the mean of all completed jobs. At most 1,000 running jobs are read.
WITH old AS MATERIALIZED (
    SELECT l.id, l.worker_id, l.started_at FROM ojs_lease AS l
     WHERE l.started_at < now() - %(min_s)s::int * interval '1 second' LIMIT 1000
), named AS MATERIALIZED (
    SELECT o.*, j.type, j.queue, j.tenant
      FROM old AS o
     CROSS JOIN LATERAL (SELECT x.type, x.queue, x.tenant FROM ojs_job AS x
                          WHERE x.id = o.id OFFSET 0) AS j
), usual AS MATERIALIZED (
    SELECT n.queue, n.type, t.run_ms
      FROM (SELECT DISTINCT queue, type FROM named) AS n
     CROSS JOIN LATERAL (SELECT sum(x.run_ms) / nullif(sum(x.completed), 0) AS run_ms,
                                sum(x.completed) AS completed
                           FROM ojs_total AS x WHERE x.queue = n.queue AND x.type = n.type) AS t
     WHERE t.completed >= %(min_completed)s::int
), late AS MATERIALIZED (
    SELECT n.*, u.run_ms, n.started_at + b.most AS late_at
      FROM named AS n JOIN usual AS u USING (queue, type)
     CROSS JOIN LATERAL (SELECT greatest(%(min_s)s::int * interval '1 second',
                                         %(factor)s::int * u.run_ms * interval '1 millisecond')
                                AS most) AS b
     WHERE n.started_at + b.most < now()
)
SELECT l.type, NULL::text, min(l.late_at), count(*), count(DISTINCT l.tenant)::int,
       jsonb_build_object(
           'job', (array_agg(l.id::text ORDER BY l.started_at))[1],
           'worker', (array_agg(l.worker_id ORDER BY l.started_at))[1],
           'queue', (array_agg(l.queue ORDER BY l.started_at))[1],
           'longest_ms', round(extract(epoch FROM now() - min(l.started_at)) * 1000),
           'usual_ms', round(min(l.run_ms)), 'workers', count(DISTINCT l.worker_id))::text
  FROM late AS l GROUP BY l.type ORDER BY 4 DESC LIMIT %(most)s::int
