-- forget_keys: remove at most `batch` keys that are older than the window.
-- Locks: the keys, SKIP LOCKED.
WITH old AS MATERIALIZED (
    SELECT tenant, federation_id FROM ojs_federation_key
     WHERE created_at < now() - %(window_ms)s::bigint * interval '1 millisecond'
     ORDER BY created_at LIMIT %(batch)s::int FOR UPDATE SKIP LOCKED
)
DELETE FROM ojs_federation_key AS k
 USING old AS o
 WHERE k.tenant = o.tenant AND k.federation_id = o.federation_id
   AND k.tenant = ANY (ARRAY(SELECT tenant FROM old))
   AND k.federation_id = ANY (ARRAY(SELECT federation_id FROM old))
RETURNING k.job_id
