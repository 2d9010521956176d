-- look: the running transactions with an id, and numbers that differ after an event and after a change
-- of the configuration. A transaction gets an id with its first write or row lock.
-- Then in how many milliseconds the next rows are due, null: none waits. They are the values of
-- next_due.sql, next_overdue.sql and next_expiry.sql.
SELECT pg_current_snapshot()::text,
       (SELECT s.last_value + s.is_called::int FROM ojs_event_seq_seq AS s),  -- unused, it is at 1, too
       (SELECT v.version FROM ojs_terms AS v WHERE v.id = 1),
       (SELECT (extract(epoch FROM x.due_at - clock_timestamp()) * 1000)::bigint
          FROM ojs_later AS x
         WHERE x.due_at IS NOT NULL
           AND NOT EXISTS (SELECT 1 FROM ojs_maintenance AS m WHERE ojs_in_force(m.ends_at))
         ORDER BY x.due_at LIMIT 1),
       (SELECT (extract(epoch FROM x.due_at - clock_timestamp()) * 1000)::bigint
          FROM ojs_lease AS x WHERE x.due_at IS NOT NULL ORDER BY x.due_at LIMIT 1),
       (extract(epoch FROM least(
           (SELECT x.expires_at FROM ojs_ready AS x WHERE x.expires_at IS NOT NULL
             ORDER BY x.expires_at LIMIT 1),
           (SELECT x.expires_at FROM ojs_later AS x WHERE x.expires_at IS NOT NULL
             ORDER BY x.expires_at LIMIT 1)) - clock_timestamp()) * 1000)::bigint
