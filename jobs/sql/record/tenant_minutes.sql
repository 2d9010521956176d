-- tenant_minutes: recent counts of a tenant's jobs in each queue; parameters as in minutes.sql.
SELECT queue, sum(completed)::bigint, sum(failed)::bigint, sum(started)::bigint,
       sum(wait_ms)::bigint, sum(run_ms)::bigint
  FROM ojs_tenant_period
 WHERE tenant = %(tenant)s::text AND span_s = 60
   AND at > now() - %(minutes)s::int * interval '1 minute'
   AND (%(queues)s::text[] IS NULL OR queue = ANY (%(queues)s::text[]))
 GROUP BY queue
