-- spread: the numbers of some jobs by queue, tenant and type.
WITH given AS MATERIALIZED (
    SELECT j.queue, j.tenant, j.type FROM ojs_job AS j WHERE j.id = ANY (%(ids)s::uuid[])
)
SELECT 'queue' AS dimension, g.queue AS name, count(*)::int AS jobs FROM given AS g GROUP BY g.queue
UNION ALL SELECT 'tenant', g.tenant, count(*)::int FROM given AS g GROUP BY g.tenant
UNION ALL SELECT 'type', g.type, count(*)::int FROM given AS g GROUP BY g.type
 ORDER BY 1, 3 DESC, 2
