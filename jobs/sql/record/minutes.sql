-- minutes: counts of the jobs of each queue in the last `minutes`; `queues` null: all.
SELECT queue, sum(completed)::bigint, sum(failed)::bigint, sum(started)::bigint,
       sum(wait_ms)::bigint, sum(run_ms)::bigint
  FROM ojs_period
 WHERE span_s = 60 AND at > now() - %(minutes)s::int * interval '1 minute'
   AND (%(queues)s::text[] IS NULL OR queue = ANY (%(queues)s::text[]))
 GROUP BY queue
