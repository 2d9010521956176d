-- hits: the result of ojs_unique_hits, with the time of this transaction; one row without a job when
-- there is no match.
-- Locks: the locks of ojs_unique_hits.
SELECT now() AS now, h.n, h.id, h.state, h.created_at, h.scheduled_at
  FROM (SELECT 1) AS one
  LEFT JOIN ojs_unique_hits(%(keys)s::text[], %(states)s::int[], %(periods_ms)s::bigint[])
       AS h ON true
