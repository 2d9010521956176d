-- tenants_hit: count the tenants with available or retryable jobs in each of some queues.
SELECT d.queue, count(DISTINCT d.tenant)::int FROM ojs_tenant_depth AS d
 WHERE d.queue = ANY (%(queues)s::text[]) AND d.state IN (3, 5) AND d.jobs > 0
   AND cardinality(%(queues)s::text[]) > 0
 GROUP BY d.queue
