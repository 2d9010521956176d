-- reserve_answer: reserve an idempotency key for its first request, or again after its answer was
-- removed. A reservation without an answer holds for `claim_ms`; then its request counts as dead. No
-- row: the key is in use.
-- Locks: the key's row; waits for a reservation in an open transaction.
INSERT INTO ojs_bulk_answer AS b (operation, tenant, key, request_hash, created_at)
VALUES (%(operation)s::text, %(tenant)s::text, %(key)s::text, %(request_hash)s::bytea, now())
ON CONFLICT (operation, tenant, key) DO UPDATE
   SET request_hash = excluded.request_hash, status = NULL, answer = NULL, created_at = now()
 WHERE b.created_at < now() - %(keep_ms)s::bigint * interval '1 millisecond'
    OR b.status IS NULL AND b.created_at < now() - %(claim_ms)s::bigint * interval '1 millisecond'
RETURNING key
