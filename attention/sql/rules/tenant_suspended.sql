-- tenant_suspended: find suspended tenants with waiting jobs. The audit log has the time of the
-- suspension.
SELECT t.id, t.id, coalesce(a.at, t.updated_at), d.jobs, 1,
       jsonb_build_object('actor', a.actor, 'reason', a.reason)::text
  FROM ojs_tenant AS t
 CROSS JOIN LATERAL (SELECT sum(x.jobs)::bigint AS jobs FROM ojs_tenant_depth AS x
                      WHERE x.tenant = t.id AND x.state IN (3, 5)) AS d
  LEFT JOIN LATERAL (SELECT x.at, x.actor, x.reason FROM ojs_audit AS x
                      WHERE x.target = t.id AND x.action = 'tenant.suspended'
                      ORDER BY x.id DESC LIMIT 1) AS a ON true
 WHERE t.state = 'suspended' AND d.jobs >= %(min_jobs)s::bigint
 ORDER BY d.jobs DESC, t.id LIMIT %(most)s::int
