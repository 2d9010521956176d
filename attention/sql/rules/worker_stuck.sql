-- worker_stuck: find live workers all of whose jobs run far beyond the usual time of their type.
-- A type without completed jobs has no usual time: its jobs may run four times `after_s`.
WITH held AS MATERIALIZED (
    SELECT l.worker_id, count(*) AS jobs FROM ojs_lease AS l
     WHERE l.worker_id IS NOT NULL
     GROUP BY l.worker_id
    HAVING max(l.started_at) < now() - %(after_s)s::int * interval '1 second' AND count(*) <= 1000
     ORDER BY max(l.started_at) LIMIT %(most)s::int
), job AS MATERIALIZED (
    SELECT h.worker_id, l.id, l.started_at, j.type, j.queue, j.tenant
      FROM held AS h
     CROSS JOIN LATERAL (SELECT x.id, x.started_at FROM ojs_lease AS x
                          WHERE x.worker_id = h.worker_id OFFSET 0) AS l
     CROSS JOIN LATERAL (SELECT x.type, x.queue, x.tenant FROM ojs_job AS x
                          WHERE x.id = l.id OFFSET 0) AS j
), usual AS MATERIALIZED (
    SELECT n.queue, n.type, t.run_ms
      FROM (SELECT DISTINCT queue, type FROM job) AS n
     CROSS JOIN LATERAL (SELECT sum(x.run_ms) / nullif(sum(x.completed), 0) AS run_ms
                           FROM ojs_total AS x WHERE x.queue = n.queue AND x.type = n.type) AS t
), dated AS MATERIALIZED (
    SELECT j.*, j.started_at
                + CASE WHEN u.run_ms IS NULL THEN 4 * %(after_s)s::int * interval '1 second'
                       ELSE greatest(%(after_s)s::int * interval '1 second',
                                     %(factor)s::int * u.run_ms * interval '1 millisecond')
                   END AS late_at
      FROM job AS j LEFT JOIN usual AS u USING (queue, type)
)
SELECT d.worker_id, NULL::text, max(d.late_at), count(*), count(DISTINCT d.tenant)::int,
       jsonb_build_object('type', mode() WITHIN GROUP (ORDER BY d.type),
           'job', (array_agg(d.id::text ORDER BY d.started_at))[1],
           'last_start_ms', round(extract(epoch FROM now() - max(d.started_at)) * 1000),
           'host', min(w.hostname), 'concurrency', min(w.concurrency))::text
  FROM dated AS d JOIN ojs_worker AS w ON w.id = d.worker_id
 WHERE w.stopped_at IS NULL AND w.dead_at IS NULL
 GROUP BY d.worker_id HAVING max(d.late_at) < now()
 ORDER BY 4 DESC
