-- latency_history: how many jobs completed by bucket of latency; parameters as in history.sql.
SELECT h.since, h.bucket, h.jobs
  FROM ojs_latency_history(%(period_s)s::int, %(span_s)s::int, %(since)s::timestamptz,
                           %(until)s::timestamptz, %(queue)s::text) AS h
 ORDER BY h.since, h.bucket
