-- record: store the outcomes of attempts, and update their deliveries and subscriptions. `attempts` is
-- a JSON array. The number of an attempt guards the update: an attempt is only logged if it was
-- repeated since as lost, or if its delivery was cancelled.
-- `wait_s` null ends a failed delivery as dead. After `disable_after` consecutive dead deliveries the
-- subscription is switched off.
-- Locks: the deliveries in id order, then the subscriptions in id order.
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(attempts)s::json)
        AS a (id text, subscription_id text, number int, took_ms int, status_code int, error text,
              body text, is_success boolean, wait_s int)
), logged AS (
    INSERT INTO ojs_webhook_attempt (delivery_id, number, took_ms, status_code, error,
                                     response_body)
    SELECT id, number, took_ms, status_code, error, body FROM given
    ON CONFLICT (delivery_id, number) DO NOTHING
), held AS MATERIALIZED (
    SELECT d.id FROM ojs_webhook_delivery AS d JOIN given AS g ON g.id = d.id
     WHERE d.id = ANY (ARRAY(SELECT id FROM given)) AND d.attempts = g.number
       AND d.status IN ('pending', 'failed')
     ORDER BY d.id FOR UPDATE OF d
), stored AS (
    UPDATE ojs_webhook_delivery AS d
       SET status = CASE WHEN g.is_success THEN 'delivered'
                         WHEN g.wait_s IS NULL THEN 'dead' ELSE 'failed' END,
           next_attempt_at = CASE WHEN NOT g.is_success
                                  THEN now() + g.wait_s * interval '1 second' END,
           last_status_code = g.status_code, last_error = g.error,
           delivered_at = CASE WHEN g.is_success THEN now() END,
           ended_at = CASE WHEN g.is_success OR g.wait_s IS NULL THEN now() END
      FROM given AS g
     WHERE d.id = g.id AND d.id = ANY (ARRAY(SELECT id FROM held))
    RETURNING d.id, d.subscription_id, d.event_id, d.event_type, d.status, d.attempts, d.tenant,
              d.last_status_code, d.last_error
), counted AS MATERIALIZED (
    SELECT subscription_id, count(*) FILTER (WHERE status = 'delivered') AS delivered,
           count(*) FILTER (WHERE status <> 'delivered') AS failed,
           count(*) FILTER (WHERE status = 'dead') AS dead, max(status) AS status
      FROM stored GROUP BY subscription_id
), locked AS MATERIALIZED (
    SELECT s.id, s.active FROM ojs_webhook_subscription AS s
     WHERE s.id = ANY (ARRAY(SELECT subscription_id FROM counted)) ORDER BY s.id FOR UPDATE
), noted AS (
    UPDATE ojs_webhook_subscription AS s
       SET last_delivery_at = now(), last_delivery_status = c.status,
           success_count = s.success_count + c.delivered,
           failure_count = s.failure_count + c.failed,
           dead_in_row = CASE WHEN c.delivered > 0 THEN 0 ELSE s.dead_in_row + c.dead END,
           active = s.active AND NOT (c.delivered = 0
                                      AND s.dead_in_row + c.dead >= %(disable_after)s::int),
           disabled_reason = CASE WHEN s.active AND c.delivered = 0
                                   AND s.dead_in_row + c.dead >= %(disable_after)s::int
                                  THEN 'deliveries failed again and again'
                                  ELSE s.disabled_reason END
      FROM counted AS c JOIN locked AS l ON l.id = c.subscription_id
     WHERE s.id = c.subscription_id AND s.id = ANY (ARRAY(SELECT id FROM locked))
    RETURNING s.id, l.active AND NOT s.active AS is_disabled
)
SELECT s.id, s.subscription_id, s.event_id, s.event_type, s.status, s.attempts, s.tenant,
       s.last_status_code, s.last_error, coalesce(n.is_disabled, false) AS is_disabled
  FROM stored AS s LEFT JOIN noted AS n ON n.id = s.subscription_id
