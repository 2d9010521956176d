-- workflow_waits: find running workflows of which no step began or ended for long, by name and tenant.
-- A step that is scheduled for later is no finding. A running step is one beyond `factor` times the
-- usual time of its type; without completed jobs, four times `after_m` is usual. Reads the steps of
-- the oldest 200 running workflows, at most 500 steps each.
WITH old AS MATERIALIZED (
    SELECT w.id, w.name, w.tenant, w.kind, coalesce(w.started_at, w.created_at) AS began
      FROM ojs_workflow AS w
     WHERE w.state = 1 AND w.parent_id IS NULL
       AND w.created_at < now() - %(after_m)s::int * interval '1 minute'
     ORDER BY w.state, w.id LIMIT 200
), quiet AS MATERIALIZED (
    SELECT o.*, greatest(o.began, s.last_at) AS since, s.name AS step, s.job, s.due
      FROM old AS o
     CROSS JOIN LATERAL (
           SELECT max(greatest(x.started_at, x.finished_at)) AS last_at,
                  (array_agg(x.name ORDER BY x.state DESC, x.index)
                      FILTER (WHERE x.state IN (0, 1, 2)))[1] AS name,
                  (array_agg(x.job_id::text ORDER BY x.index) FILTER (WHERE x.state = 2))[1] AS job,
                  bool_or(x.state = 1) AS due
             FROM (SELECT y.name, y.index, y.state, y.job_id, y.started_at, y.finished_at
                     FROM ojs_workflow_step AS y WHERE y.workflow_id = o.id
                    ORDER BY y.workflow_id, y.index LIMIT 500) AS x) AS s
     WHERE coalesce(greatest(o.began, s.last_at), o.began)
           < now() - %(after_m)s::int * interval '1 minute'
), job AS MATERIALIZED (
    SELECT q.id, coalesce((SELECT 3 FROM ojs_ready AS r WHERE r.id = q.job::uuid),
                          (SELECT 4 FROM ojs_lease AS l WHERE l.id = q.job::uuid),
                          (SELECT t.kind FROM ojs_later AS t WHERE t.id = q.job::uuid)) AS state,
           j.queue, j.type
      FROM quiet AS q
      LEFT JOIN LATERAL (SELECT x.queue, x.type FROM ojs_job AS x WHERE x.id = q.job::uuid OFFSET 0)
             AS j ON true
), usual AS MATERIALIZED (
    SELECT n.queue, n.type, sum(t.run_ms) / nullif(sum(t.completed), 0) AS run_ms
      FROM (SELECT DISTINCT j.queue, j.type FROM job AS j WHERE j.state = 4) AS n
      JOIN ojs_total AS t ON t.queue = n.queue AND t.type = n.type
     GROUP BY 1, 2
)
SELECT coalesce(nullif(q.name, ''), min(q.id::text)) || CASE WHEN q.tenant = '_default' THEN ''
                                                             ELSE ' of ' || q.tenant END,
       q.tenant, min(q.since), count(*), 1,
       jsonb_build_object('name', coalesce(nullif(q.name, ''), min(q.id::text)), 'tenant', q.tenant,
           'workflow', (array_agg(q.id::text ORDER BY q.since))[1],
           'step', (array_agg(q.step ORDER BY q.since))[1],
           'job', (array_agg(q.job ORDER BY q.since))[1],
           'state', (array_agg(j.state ORDER BY q.since))[1],
           'queue', (array_agg(j.queue ORDER BY q.since))[1],
           'is_due', (array_agg(q.due ORDER BY q.since))[1])::text
  FROM quiet AS q JOIN job AS j USING (id)
  LEFT JOIN usual AS u ON u.queue = j.queue AND u.type = j.type
 WHERE j.state IS NULL OR j.state NOT IN (1, 4) OR j.state = 4
       AND q.since < now() - coalesce(%(factor)s::int * u.run_ms * interval '1 millisecond',
                                      4 * %(after_m)s::int * interval '1 minute')
 GROUP BY q.name, q.tenant, CASE WHEN q.name = '' THEN q.id END
 ORDER BY 4 DESC, 1 LIMIT %(most)s::int
