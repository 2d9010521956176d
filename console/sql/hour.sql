-- hour: what happened per minute in the last hour; a range of the minute table's key.
SELECT minute, sum(enqueued)::bigint, sum(completed)::bigint, sum(failed)::bigint
  FROM ojs_minute
 WHERE minute > now() - interval '1 hour'
   AND (%(queue)s::text IS NULL OR queue = %(queue)s::text)
 GROUP BY minute ORDER BY minute
