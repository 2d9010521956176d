-- ojs_loads: return how many jobs wait in queues (available, scheduled, pending, retryable), and
-- their bytes. The numbers are exact at the caller's snapshot: the aggregated counts plus the
-- unaggregated events. A queue in which no job ever waited is absent.
CREATE OR REPLACE FUNCTION ojs_loads(p_queues text[])
RETURNS TABLE (queue text, jobs bigint, bytes bigint) LANGUAGE sql STABLE AS $$
SELECT c.queue, sum(c.jobs)::bigint, sum(c.bytes)::bigint FROM (
    SELECT d.queue, d.jobs, 0::bigint AS bytes FROM ojs_depth AS d
     WHERE d.queue = ANY (p_queues) AND d.state IN (1, 2, 3, 5)
    UNION ALL
    SELECT s.queue, 0, s.bytes FROM ojs_queue_size AS s WHERE s.queue = ANY (p_queues)
    UNION ALL
    SELECT e.queue, (e.to_state IN (1, 2, 3, 5) AND e.to_state IS NOT NULL)::int
                    - (e.from_state IN (1, 2, 3, 5) AND e.from_state IS NOT NULL)::int, e.bytes
      FROM ojs_event AS e
     WHERE e.stamp >= coalesce((SELECT p.stamp FROM ojs_fold_position AS p WHERE p.id = 1), '0')
       AND e.stamp <= '18446744073709551615'  -- a range: see depths.sql
       AND e.queue = ANY (p_queues)
) AS c GROUP BY c.queue
$$
