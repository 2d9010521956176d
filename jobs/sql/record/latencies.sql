-- latencies: how many jobs of each queue completed in the last `minutes`, by bucket of latency.
SELECT queue, bucket, sum(jobs)::bigint
  FROM ojs_latency
 WHERE span_s = 60 AND at > now() - %(minutes)s::int * interval '1 minute'
   AND queue = ANY (%(queues)s::text[])
 GROUP BY queue, bucket ORDER BY queue, bucket
