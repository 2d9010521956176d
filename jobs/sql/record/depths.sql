-- depths: jobs per queue and state, exact at this statement's snapshot: the aggregated counts plus the
-- unaggregated events. An event without a job stands for many removed jobs. `queues` null: all.
SELECT queue, state, sum(jobs)::bigint AS jobs FROM (
    SELECT d.queue, d.state, d.jobs FROM ojs_depth AS d
     WHERE %(queues)s::text[] IS NULL OR d.queue = ANY (%(queues)s::text[])
    UNION ALL
    SELECT e.queue, s.state, s.n
      FROM ojs_event AS e
     CROSS JOIN LATERAL (VALUES (e.to_state, 1),
               (e.from_state, -CASE WHEN e.job_id IS NULL THEN (e.data ->> 'count')::int ELSE 1 END)
               ) AS s (state, n)
     WHERE e.stamp >= coalesce((SELECT p.stamp FROM ojs_fold_position AS p WHERE p.id = 1), '0')
       AND e.stamp <= '18446744073709551615'  -- a range: without an upper bound the planner expects 1/3
       AND s.state IS NOT NULL
       AND (%(queues)s::text[] IS NULL OR e.queue = ANY (%(queues)s::text[]))
) AS c GROUP BY queue, state
