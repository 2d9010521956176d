-- starts: how many jobs of some queues were handed out in the last `minutes`, as of the last fold.
SELECT queue, sum(started)::bigint
  FROM ojs_period
 WHERE span_s = 60 AND at > now() - %(minutes)s::int * interval '1 minute'
   AND queue = ANY (%(queues)s::text[])
 GROUP BY queue
