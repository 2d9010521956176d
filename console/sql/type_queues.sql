-- type_queues: the counts of a type by queue from `since` to before `until`, from the counts of `span_s`, the
-- most starts first. The rows without a queue are the histograms of these queues since the beginning: the
-- measure, the index of the upper bound, the number of jobs.
WITH queue AS MATERIALIZED (
    SELECT p.queue, sum(enqueued)::bigint AS enqueued, sum(started)::bigint AS started,
           sum(completed)::bigint AS completed, sum(failed)::bigint AS failed,
           sum(discarded)::bigint AS discarded, sum(wait_ms)::bigint AS wait_ms,
           sum(run_ms)::bigint AS run_ms
      FROM ojs_period AS p
     WHERE p.span_s = %(span_s)s::int
       AND p.at >= %(since)s::timestamptz AND p.at < %(until)s::timestamptz
       AND p.type = %(type)s::text
     GROUP BY p.queue ORDER BY sum(started) DESC, p.queue LIMIT %(size)s::int
)
SELECT q.* FROM queue AS q
UNION ALL
SELECT NULL, d.measure, d.bucket, sum(d.jobs)::bigint, 0, 0, 0, 0
  FROM ojs_duration AS d
 WHERE d.queue = ANY (ARRAY(SELECT q.queue FROM queue AS q)) AND d.type = %(type)s::text
 GROUP BY d.measure, d.bucket
 ORDER BY 3 DESC, 1
