-- failures: the latest failed attempts, by the index of failed attempts.
SELECT e.job_id, e.at, e.queue, e.type, e.attempt, e.data #>> '{error,type}' AS error_type,
       e.data #>> '{error,message}' AS message
  FROM ojs_event AS e WHERE e.kind = 5
 ORDER BY e.stamp DESC, e.seq DESC LIMIT %(size)s::int
