-- tenant_history: counts of a tenant's jobs; parameters as in history.sql.
SELECT date_bin(%(period_s)s::int * interval '1 second', p.at, timestamptz 'epoch') AS since,
       sum(enqueued)::bigint, sum(completed)::bigint, sum(failed)::bigint, sum(started)::bigint,
       sum(wait_ms)::bigint, sum(run_ms)::bigint
  FROM ojs_tenant_period AS p
 WHERE p.tenant = %(tenant)s::text AND p.span_s = %(span_s)s::int
   AND p.at >= %(since)s::timestamptz AND p.at < %(until)s::timestamptz
   AND (%(queue)s::text IS NULL OR p.queue = %(queue)s::text)
 GROUP BY 1 ORDER BY 1
