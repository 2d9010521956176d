-- latency_history: how many jobs completed by bucket of latency; parameters as in history.sql.
SELECT date_bin(%(period_s)s::int * interval '1 second', p.at, timestamptz 'epoch') AS since,
       bucket, sum(jobs)::bigint
  FROM ojs_latency AS p
 WHERE p.span_s = %(span_s)s::int
   AND p.at >= %(since)s::timestamptz AND p.at < %(until)s::timestamptz
   AND (%(queue)s::text IS NULL OR p.queue = %(queue)s::text)
 GROUP BY 1, 2 ORDER BY 1, 2
