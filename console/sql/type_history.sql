-- type_history: counts of the jobs of a type per `period_s` seconds from `since` to before `until`, from
-- the counts of `span_s`, which divides it. Reads all types in this range of the key.
SELECT date_bin(%(period_s)s::int * interval '1 second', p.at, timestamptz 'epoch') AS since,
       sum(enqueued)::bigint, sum(completed)::bigint, sum(failed)::bigint, sum(started)::bigint,
       sum(wait_ms)::bigint, sum(run_ms)::bigint
  FROM ojs_period AS p
 WHERE p.span_s = %(span_s)s::int
   AND p.at >= %(since)s::timestamptz AND p.at < %(until)s::timestamptz
   AND p.type = %(type)s::text
 GROUP BY 1 ORDER BY 1
