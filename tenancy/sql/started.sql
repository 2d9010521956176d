-- started: how many jobs of each tenant started in the last minutes (as of the last aggregation).
SELECT p.tenant, sum(p.started)::bigint AS started FROM ojs_tenant_period AS p
 WHERE p.span_s = 60 AND p.at > now() - %(minutes)s::int * interval '1 minute'
 GROUP BY p.tenant
