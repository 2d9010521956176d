-- webhook_off: find subscriptions that the server switched off after failures.
SELECT s.id, s.tenant, s.updated_at, s.dead_in_row::bigint, 1,
       jsonb_build_object('host', substring(s.url FROM '^[a-z]+://(?:[^/@]*@)?([^/:?#]+)'),
                          'why', s.disabled_reason)::text
  FROM ojs_webhook_subscription AS s
 WHERE NOT s.active AND s.disabled_reason IS NOT NULL
 ORDER BY s.updated_at, s.id LIMIT %(most)s::int
