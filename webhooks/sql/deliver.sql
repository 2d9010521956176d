-- deliver: store deliveries; `rows` is a JSON array. Existing deliveries stay unchanged, because the
-- relay may read events twice after a crash.
INSERT INTO ojs_webhook_delivery (id, subscription_id, tenant, event_id, event_type, body, status,
                                  next_attempt_at)
SELECT r.id, r.subscription_id, r.tenant, r.event_id, r.event_type,
       convert_to(r.body, 'UTF8'), 'pending', now() + %(first_s)s::int * interval '1 second'
  FROM json_to_recordset(%(rows)s::json)
    AS r (id text, subscription_id text, tenant text, event_id text, event_type text, body text)
    ON CONFLICT (subscription_id, event_id) DO NOTHING
