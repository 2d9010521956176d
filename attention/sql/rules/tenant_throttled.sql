-- tenant_throttled: find tenants whose weight or concurrency a throttle reduces.
SELECT t.tenant_id, t.tenant_id, t.since,
       coalesce((SELECT sum(x.jobs) FROM ojs_tenant_depth AS x
                  WHERE x.tenant = t.tenant_id AND x.state IN (3, 5)), 0)::bigint, 1,
       jsonb_build_object('action', t.action, 'factor', t.factor, 'until', t.until,
                          'reasons', t.reasons)::text
  FROM ojs_tenant_throttle AS t WHERE t.hold = 'applied' AND t.until > now()
 ORDER BY t.since, t.tenant_id LIMIT %(most)s::int
