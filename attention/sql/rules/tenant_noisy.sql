-- tenant_noisy: find tenants that the loop `noise` found noisy lately, and that are not throttled.
SELECT n.tenant, n.tenant, n.since,
       coalesce((SELECT sum(x.jobs) FROM ojs_tenant_depth AS x
                  WHERE x.tenant = n.tenant AND x.state IN (3, 4, 5)), 0)::bigint, 1,
       jsonb_build_object('reasons', (SELECT jsonb_agg(s.one ->> 'reason')
                                        FROM jsonb_array_elements(n.signals) AS s (one)))::text
  FROM ojs_tenant_noise AS n
 WHERE n.seen_at > now() - %(fresh_s)s::int * interval '1 second'
   AND NOT EXISTS (SELECT FROM ojs_tenant_throttle AS t
                    WHERE t.tenant_id = n.tenant AND t.hold = 'applied')
 ORDER BY n.since, n.tenant LIMIT %(most)s::int
