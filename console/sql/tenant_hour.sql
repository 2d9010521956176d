-- tenant_hour: what happened to a tenant's jobs per minute in the last hour; a range of the key.
SELECT at, sum(enqueued)::bigint, sum(completed)::bigint, sum(failed)::bigint
  FROM ojs_tenant_period
 WHERE tenant = %(tenant)s::text AND span_s = 60 AND at > now() - interval '1 hour'
 GROUP BY at ORDER BY at
