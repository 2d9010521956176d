-- await_begin: note that a listener waits for the ends of jobs, for `keep_ms`; a repetition prolongs it.
-- No other session locks the rows of a listener, so the statement never waits.
INSERT INTO ojs_awaited (job_id, listener, until)
SELECT i.id, %(listener)s::uuid, now() + %(keep_ms)s::bigint * interval '1 millisecond'
  FROM unnest(%(ids)s::uuid[]) AS i (id)
    ON CONFLICT (job_id, listener) DO UPDATE SET until = excluded.until
