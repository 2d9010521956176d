-- loop_stuck: find loops that have not run lately. One row, `all`, if that holds for every loop, or if
-- no loop ever ran.
WITH loop AS MATERIALIZED (
    SELECT l.name, l.ticked_at,
           l.ticked_at <= now() - %(stale_ms)s::bigint * interval '1 millisecond' AS is_late
      FROM ojs_loop AS l
), counted AS MATERIALIZED (
    SELECT count(*) AS loops, count(*) FILTER (WHERE l.is_late) AS late, max(l.ticked_at) AS last_at
      FROM loop AS l
)
SELECT 'all', NULL::text, coalesce(c.last_at, now()),
       coalesce((SELECT sum(d.jobs) FROM ojs_depth AS d WHERE d.state IN (1, 5)), 0)::bigint, 0,
       jsonb_build_object('last_at', c.last_at)::text
  FROM counted AS c WHERE c.late = c.loops
UNION ALL
(SELECT l.name, NULL, l.ticked_at, 0, 0, jsonb_build_object('last_at', l.ticked_at)::text
   FROM loop AS l CROSS JOIN counted AS c WHERE l.is_late AND c.late < c.loops
  ORDER BY l.ticked_at, l.name LIMIT %(most)s::int)
