-- types: the counts of each job type from `since` to before `until`, from the counts of `span_s`. `sort`
-- names the order, the largest first; `containing` is a part of the name.
SELECT c.type, c.enqueued, c.started, c.completed, c.failed, c.discarded, c.wait_ms, c.run_ms,
       c.queues
  FROM (SELECT p.type, sum(enqueued)::bigint AS enqueued, sum(started)::bigint AS started,
               sum(completed)::bigint AS completed, sum(failed)::bigint AS failed,
               sum(discarded)::bigint AS discarded, sum(wait_ms)::bigint AS wait_ms,
               sum(run_ms)::bigint AS run_ms, count(DISTINCT p.queue)::int AS queues
          FROM ojs_period AS p
         WHERE p.span_s = %(span_s)s::int
           AND p.at >= %(since)s::timestamptz AND p.at < %(until)s::timestamptz
           AND strpos(p.type, %(containing)s::text) > 0
         GROUP BY p.type) AS c
 ORDER BY CASE %(sort)s::text
          WHEN 'started' THEN c.started::float8
          WHEN 'failed' THEN c.failed::float8
          WHEN 'rate' THEN c.failed / greatest(c.completed + c.failed, 1)::float8
          WHEN 'wait' THEN c.wait_ms / greatest(c.started, 1)::float8
          WHEN 'run' THEN c.run_ms / greatest(c.completed, 1)::float8
          ELSE 0 END DESC, c.type
 LIMIT %(size)s::int
