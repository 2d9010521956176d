-- forget: remove at most `batch` deliveries older than the retention, with their attempts.
-- Locks: the deliveries, SKIP LOCKED.
WITH old AS MATERIALIZED (
    SELECT id FROM ojs_webhook_delivery
     WHERE ended_at < now() - %(retention_ms)s::bigint * interval '1 millisecond'
     ORDER BY ended_at LIMIT %(batch)s::int FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM ojs_webhook_attempt AS a WHERE a.delivery_id = ANY (ARRAY(SELECT id FROM old))
)
DELETE FROM ojs_webhook_delivery AS d WHERE d.id = ANY (ARRAY(SELECT id FROM old))
RETURNING d.id
