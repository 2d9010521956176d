-- samples: activity of tenants with traffic in the last minute, and their current jobs, as of the last
-- aggregation. The counts are of this minute and of a part of the minute before it: the part that lies
-- within the last 60 seconds. Leases find tenants whose jobs have only run for longer.
WITH clock AS MATERIALIZED (
    SELECT date_trunc('minute', now()) AS minute,
           1 - extract(epoch FROM now() - date_trunc('minute', now()))::float8 / 60 AS rest
), did AS MATERIALIZED (
    SELECT p.tenant, sum(p.enqueued * k.part) AS enqueued, sum(p.completed * k.part) AS completed,
           sum(p.failed * k.part) AS failed
      FROM ojs_tenant_period AS p
     CROSS JOIN clock AS c
     CROSS JOIN LATERAL (SELECT CASE WHEN p.at < c.minute THEN c.rest ELSE 1 END AS part) AS k
     WHERE p.span_s = 60 AND p.at >= (SELECT minute FROM clock) - interval '1 minute'
     GROUP BY p.tenant
), runs AS MATERIALIZED (
    SELECT l.tenant, count(*) AS jobs FROM ojs_lease AS l GROUP BY l.tenant
), busy AS MATERIALIZED (
    SELECT tenant, coalesce(d.enqueued, 0) AS enqueued, coalesce(d.completed, 0) AS completed,
           coalesce(d.failed, 0) AS failed, coalesce(r.jobs, 0) AS active
      FROM did AS d FULL JOIN runs AS r USING (tenant)
)
SELECT b.tenant, b.enqueued, b.completed, b.failed, greatest(w.jobs, 0)::bigint AS queued,
       b.active::bigint
  FROM busy AS b
 CROSS JOIN LATERAL (
       SELECT coalesce(sum(t.jobs), 0) AS jobs FROM (
           SELECT d.jobs FROM ojs_tenant_depth AS d
            WHERE d.tenant = b.tenant AND d.state = 3 OFFSET 0) AS t) AS w
