-- look: the running transactions with an id, and numbers that differ after an event and after a change
-- of the configuration. A transaction gets an id with its first write or row lock.
SELECT pg_current_snapshot()::text,
       (SELECT s.last_value + s.is_called::int FROM ojs_event_seq_seq AS s),  -- unused, it is at 1, too
       (SELECT v.version FROM ojs_terms AS v WHERE v.id = 1)
