-- login_try: count a login; returns the number of logins in the window and how long the window
-- lasts. The window ends `window_ms` after its first try, so no lock-out lasts for ever.
-- Locks: one row, so that tries of several processes are counted one after another.
INSERT INTO ojs_login_window AS w (kind, digest, tries, ends_at)
VALUES (%(kind)s, %(digest)s, 1,
        clock_timestamp() + %(window_ms)s::bigint * interval '1 millisecond')
    ON CONFLICT (kind, digest) DO UPDATE
   SET tries = CASE WHEN w.ends_at > clock_timestamp() THEN w.tries + 1 ELSE 1 END,
       ends_at = CASE WHEN w.ends_at > clock_timestamp() THEN w.ends_at ELSE EXCLUDED.ends_at END
RETURNING tries, ceil(extract(epoch FROM ends_at - clock_timestamp()))::int
