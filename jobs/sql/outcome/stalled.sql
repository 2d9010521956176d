-- stalled: running jobs that stalled, by queue and tenant; at most `most` are counted.
SELECT j.queue, j.tenant, count(*)::int
  FROM (SELECT p.job_id, p.attempt FROM ojs_progress AS p WHERE p.stalled_at IS NOT NULL
         ORDER BY p.stalled_at DESC LIMIT %(most)s::int) AS p
 CROSS JOIN LATERAL (SELECT x.attempt FROM ojs_lease AS x WHERE x.id = p.job_id OFFSET 0) AS l
 CROSS JOIN LATERAL (SELECT x.queue, x.tenant FROM ojs_job AS x WHERE x.id = p.job_id OFFSET 0) AS j
 WHERE l.attempt = p.attempt
 GROUP BY j.queue, j.tenant ORDER BY j.queue, j.tenant
