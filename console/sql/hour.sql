-- hour: what happened per minute in the last hour; a range of the key of the periods.
SELECT at, sum(enqueued)::bigint, sum(completed)::bigint, sum(failed)::bigint
  FROM ojs_period
 WHERE span_s = 60 AND at > now() - interval '1 hour'
   AND (%(queue)s::text IS NULL OR queue = %(queue)s::text)
 GROUP BY at ORDER BY at
