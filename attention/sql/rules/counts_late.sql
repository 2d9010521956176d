-- counts_late: report events that wait too long for their aggregation, though their writers have ended.
SELECT 'fold', NULL::text, e.at, 0::bigint, 0,
       jsonb_build_object('behind_ms', round(extract(epoch FROM now() - e.at) * 1000))::text
  FROM (SELECT x.at FROM ojs_event AS x
         WHERE x.stamp >= coalesce((SELECT p.stamp FROM ojs_fold_position AS p WHERE p.id = 1), '0')
           AND x.stamp <= '18446744073709551615'  -- a range: see depths.sql of the core
         ORDER BY x.stamp, x.seq LIMIT 1) AS e
 WHERE e.at < now() - %(after_s)s::int * interval '1 second'
