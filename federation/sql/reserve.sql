-- reserve: note which jobs federation ids become, and return which they are, and whether that was
-- noted just now; `keys` is a JSON array.
-- One that was noted within the window keeps its job, so whoever gets another id back than it gave
-- must not store. Waits for transactions that note the same: these end with a job, or with nothing.
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
