-- claim: deliveries to try now, at most `batch`, and at most `share` of one subscription. So a slow
-- subscriber delays only its own deliveries.
-- An attempt has a lease: a claim moves the time of the delivery ahead. If no outcome is recorded by
-- then, because the process was killed, the next claim makes another attempt.
-- Locks: the deliveries, SKIP LOCKED, so several processes share them.
-- The inner LIMIT is `share`, so the index is read no further. Running attempts are subtracted after
-- that; the locks of deliveries beyond the share end with the statement.
WITH found AS MATERIALIZED (
    SELECT d.id, d.next_attempt_at, s.id AS subscription_id, s.url, s.secret, s.previous_secret,
           s.previous_valid_until > now() AS is_rotating,
           coalesce(s.timeout_ms, %(timeout_ms)s::int) AS timeout_ms
      FROM ojs_webhook_subscription AS s
     CROSS JOIN LATERAL (
           SELECT x.id, x.next_attempt_at FROM ojs_webhook_delivery AS x
            WHERE x.subscription_id = s.id AND x.next_attempt_at <= statement_timestamp()
            ORDER BY x.subscription_id, x.next_attempt_at LIMIT %(share)s::int
              FOR UPDATE SKIP LOCKED) AS d
     WHERE s.active
), due AS MATERIALIZED (
    SELECT f.*
      FROM (SELECT *, row_number() OVER (PARTITION BY subscription_id ORDER BY next_attempt_at) AS n
              FROM found) AS f
     WHERE f.n <= %(share)s::int - (SELECT count(*) FROM unnest(%(busy)s::text[]) AS b
                                     WHERE b = f.subscription_id)
     ORDER BY f.n, f.next_attempt_at LIMIT %(batch)s::int
)
UPDATE ojs_webhook_delivery AS d
   SET attempts = d.attempts + 1, tries = d.tries + 1,
       next_attempt_at = now() + (due.timeout_ms + %(grace_ms)s::int) * interval '1 millisecond'
  FROM due WHERE d.id = due.id AND d.id = ANY (ARRAY(SELECT id FROM due))
RETURNING d.id, d.subscription_id, d.event_type, d.body, d.attempts, d.tries, due.url, due.secret,
          due.previous_secret, due.is_rotating, due.timeout_ms
