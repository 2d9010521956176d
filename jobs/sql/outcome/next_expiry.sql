-- next_expiry: in how many milliseconds the next waiting job expires; null if none does.
SELECT (extract(epoch FROM least(
           (SELECT r.expires_at FROM ojs_ready AS r WHERE r.expires_at IS NOT NULL
             ORDER BY r.expires_at LIMIT 1),
           (SELECT r.expires_at FROM ojs_later AS r WHERE r.expires_at IS NOT NULL
             ORDER BY r.expires_at LIMIT 1)) - clock_timestamp()) * 1000)::bigint
