-- full_pools: pools whose active jobs reach their cap or the capacity of their workers, and how many.
-- `caps` by position of `pools`, null: none. Workers that do not report their capacity are never full;
-- workers without a pool are in the pool `unnamed`.
WITH worker AS MATERIALIZED (
    SELECT coalesce(w.pool, %(unnamed)s::text) AS pool,
           bool_and(coalesce(w.concurrency <= (SELECT count(*) FROM ojs_lease AS x
                                                WHERE x.worker_id = w.id), false)) AS is_full
      FROM ojs_worker AS w
     WHERE w.stopped_at IS NULL AND w.dead_at IS NULL AND greatest(w.reported, w.directive) = 0
       AND coalesce(w.pool, %(unnamed)s::text) = ANY (%(pools)s::text[])
     GROUP BY 1
)
SELECT p.name, (SELECT count(*) FROM ojs_lease AS x WHERE x.pool = p.name)
  FROM unnest(%(pools)s::text[], %(caps)s::int[]) AS p (name, cap)
  LEFT JOIN worker AS w ON w.pool = p.name
 WHERE coalesce(w.is_full, false)
    OR CASE WHEN p.cap IS NULL THEN false
            ELSE (SELECT count(*) FROM (SELECT 1 FROM ojs_lease AS x WHERE x.pool = p.name
                                         LIMIT p.cap) AS c) >= p.cap END
