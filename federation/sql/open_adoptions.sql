-- open_adoptions: adoptions by other regions that are not handled, oldest first. Each has the job
-- of this region that it may replace: the adopted job, or the job that it enqueued in its place.
-- Locks: the copies, SKIP LOCKED.
SELECT m.origin_region, m.job_id, m.tenant, m.federation_id, m.enqueued_at,
       m.adopts_region, m.adopts_job,
       CASE WHEN m.adopts_region = %(region)s::text THEN m.adopts_job
            ELSE (SELECT o.adopted_as FROM ojs_federation_job AS o
                   WHERE o.origin_region = m.adopts_region AND o.job_id = m.adopts_job) END AS ours
  FROM ojs_federation_job AS m
 WHERE m.adopts_region IS NOT NULL AND m.replicated_from IS NOT NULL AND m.settled_at IS NULL
 ORDER BY m.received_at LIMIT %(batch)s::int
   FOR UPDATE OF m SKIP LOCKED
