-- queue_grows: find queues whose available jobs have multiplied within the window, and grew in its first
-- two thirds and in its last third. So jobs that came all at once, and are worked off, are no finding.
-- Reads the depths and the samples of the last hour. `since` is the time of the least sample.
WITH now_deep AS MATERIALIZED (
    SELECT d.queue, d.jobs FROM ojs_depth AS d
     WHERE d.state = 3 AND d.jobs >= %(min_jobs)s::bigint
       AND NOT EXISTS (SELECT FROM ojs_queue AS q WHERE q.name = d.queue AND q.paused_at IS NOT NULL)
     ORDER BY d.jobs DESC LIMIT %(most)s::int * 4
), at AS MATERIALIZED (
    SELECT date_trunc('minute', now()) - %(window_m)s::int * interval '1 minute' AS first,
           date_trunc('minute', now())
           - greatest(1, %(window_m)s::int / 3) * interval '1 minute' AS third
), grown AS MATERIALIZED (
    SELECT n.queue, n.jobs, coalesce(f.jobs, 0) AS had
      FROM now_deep AS n CROSS JOIN at AS a
      LEFT JOIN ojs_attention_sample AS f ON f.at = a.first AND f.queue = n.queue
      LEFT JOIN ojs_attention_sample AS t ON t.at = a.third AND t.queue = n.queue
     WHERE EXISTS (SELECT FROM ojs_attention_sample AS s WHERE s.at = a.first)
       AND n.jobs >= %(factor)s::int * coalesce(f.jobs, 0) AND n.jobs > coalesce(t.jobs, 0)
       AND coalesce(t.jobs, 0) > coalesce(f.jobs, 0)
     ORDER BY n.jobs DESC LIMIT %(most)s::int
), flow AS MATERIALIZED (
    SELECT p.queue, sum(p.enqueued) AS enqueued, sum(p.started) AS started
      FROM ojs_period AS p CROSS JOIN at AS a
     WHERE p.span_s = 60 AND p.at > a.first AND EXISTS (SELECT FROM grown) GROUP BY 1
)
SELECT g.queue, NULL::text,
       -- the latest minute with the least jobs, zero if the queue has no sample
       coalesce((SELECT s.at FROM (SELECT DISTINCT x.at FROM ojs_attention_sample AS x
                                    WHERE x.at < date_trunc('minute', now())) AS s
                   LEFT JOIN ojs_attention_sample AS q ON q.at = s.at AND q.queue = g.queue
                  ORDER BY coalesce(q.jobs, 0), s.at DESC LIMIT 1), now()),
       g.jobs, NULL::int,
       jsonb_build_object('had', g.had, 'window_m', %(window_m)s::int,
                          'enqueued', coalesce(f.enqueued, 0), 'started', coalesce(f.started, 0))::text
  FROM grown AS g LEFT JOIN flow AS f USING (queue) ORDER BY 4 DESC
