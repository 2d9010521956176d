-- failures: the data for decisions about failed attempts; a plain read, fail.sql guards the change.
SELECT l.id, l.attempt, l.worker_id, l.watched, j.max_attempts, j.attributes -> 'retry' AS retry,
       coalesce(j.errors, '[]') AS errors,
       (extract(epoch FROM clock_timestamp() - l.started_at) * 1000)::bigint AS elapsed_ms
  FROM ojs_lease AS l JOIN ojs_job AS j ON j.id = l.id
 WHERE l.id = ANY (%(ids)s::uuid[])
