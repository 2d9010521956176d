-- touched: the tenants of some jobs with their numbers, and when the oldest and the newest job of each
-- were created.
SELECT j.tenant, count(*)::int AS jobs, min(j.created_at) AS oldest_at, max(j.created_at) AS newest_at
  FROM ojs_job AS j WHERE j.id = ANY (%(ids)s::uuid[])
 GROUP BY j.tenant ORDER BY 2 DESC, 1
