-- forget_copies: remove at most `batch` copies of jobs that ended before the retention.
-- Locks: the copies, SKIP LOCKED.
WITH old AS MATERIALIZED (
    SELECT origin_region, job_id FROM ojs_federation_job
     WHERE completed_at < now() - %(retention_ms)s::bigint * interval '1 millisecond'
     ORDER BY completed_at LIMIT %(batch)s::int FOR UPDATE SKIP LOCKED
)
DELETE FROM ojs_federation_job AS m
 USING old AS o
 WHERE m.origin_region = o.origin_region AND m.job_id = o.job_id
   AND m.origin_region = ANY (ARRAY(SELECT origin_region FROM old))
   AND m.job_id = ANY (ARRAY(SELECT job_id FROM old))
RETURNING m.job_id
