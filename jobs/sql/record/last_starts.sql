-- last_starts: when a job of each of these queues last started, from unaggregated events.
SELECT e.queue, max(e.at) FROM ojs_event AS e
 WHERE e.stamp >= coalesce((SELECT p.stamp FROM ojs_fold_position AS p WHERE p.id = 1), '0')
   AND e.stamp <= '18446744073709551615'  -- a range: see depths.sql
   AND e.kind = 3 AND e.queue = ANY (%(queues)s::text[])
 GROUP BY e.queue
