-- start_waits: the starts from `since` to before `until` and their waits in ms: by queue, by tenant, and
-- of all jobs. The waits are those that 50, 95, 99 and 100 percent of the starts do not exceed. It reads
-- the latest `looked` rows of the record between the stamps; `is_cut` is true if these are not all rows.
WITH looked AS MATERIALIZED (
    SELECT e.at, e.queue, e.tenant, e.to_state, e.took_ms FROM ojs_event AS e
     WHERE e.stamp >= %(low)s::text::xid8 AND e.stamp < %(high)s::text::xid8
     ORDER BY e.stamp DESC, e.seq DESC LIMIT %(looked)s::int
), started AS (
    SELECT coalesce(l.queue, '') AS queue, coalesce(l.tenant, '') AS tenant,
           greatest(coalesce(l.took_ms, 0), 0) AS wait_ms
      FROM looked AS l
     WHERE l.to_state = 4 AND l.at >= %(since)s::timestamptz AND l.at < %(until)s::timestamptz
)
SELECT CASE WHEN grouping(s.queue) = 0 THEN 'queues' WHEN grouping(s.tenant) = 0 THEN 'tenants'
            ELSE 'total' END AS part,
       coalesce(s.queue, s.tenant, '') AS name, count(*)::int AS starts,
       percentile_disc(ARRAY[0.5, 0.95, 0.99, 1]) WITHIN GROUP (ORDER BY s.wait_ms) AS waits,
       (SELECT count(*) FROM looked) >= %(looked)s::int AS is_cut
  FROM started AS s
 GROUP BY GROUPING SETS ((s.queue), (s.tenant), ())
