-- starts: the number of started jobs of some queues in the last `minutes`, up to the last aggregation.
SELECT queue, sum(started)::bigint
  FROM ojs_period
 WHERE span_s = 60 AND at > now() - %(minutes)s::int * interval '1 minute'
   AND queue = ANY (%(queues)s::text[])
 GROUP BY queue
