-- reserve: store jobs for federation ids; `keys` is a JSON array. Returns the stored jobs, and whether
-- this transaction stored them.
-- An id that was stored within the window keeps its job. A caller that gets another job id than its own
-- must not store its job. Waits for transactions that store the same id: they end with a job, or
-- without.
-- Locks: the keys, in their order.
INSERT INTO ojs_federation_key AS k (tenant, federation_id, job_id, created_at)
SELECT DISTINCT ON (g.tenant, g.federation_id) g.tenant, g.federation_id, g.job_id, now()
  FROM json_to_recordset(%(keys)s::json) AS g (n int, tenant text, federation_id uuid, job_id uuid)
 ORDER BY g.tenant, g.federation_id, g.n
    ON CONFLICT (tenant, federation_id) DO UPDATE
   SET job_id = CASE WHEN k.created_at < now() - %(window_ms)s::bigint * interval '1 millisecond'
                     THEN excluded.job_id ELSE k.job_id END,
       created_at = CASE WHEN k.created_at < now() - %(window_ms)s::bigint * interval '1 millisecond'
                         THEN excluded.created_at ELSE k.created_at END
RETURNING k.tenant, k.federation_id, k.job_id, k.created_at = now() AS is_new
