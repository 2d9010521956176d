-- tenants: a page of tenants. The busiest tenants of the last survey and the tenants in `noisy` come
-- first, noisy tenants before busy tenants, then the rest by id; or all by id. The default tenant is
-- always included.
-- At most `looked` tenants of the rest are read. If there are more, `further` is the last of them, in a
-- row of its own; the next page begins after it.
-- `after_rank` and `after_id` are the values of the last tenant of the previous page; null: first page.
-- The rest has rank 0, busy and noisy tenants have higher ranks.
WITH noted AS MATERIALIZED (
    SELECT n.id, bool_or(n.is_noisy) AS is_noisy, max(n.jobs) AS jobs
      FROM (SELECT b.id, b.id = ANY (s.loud) AS is_noisy, b.jobs
              FROM ojs_tenant_survey AS s
             CROSS JOIN LATERAL unnest(s.busiest, s.activity) AS b (id, jobs)
             WHERE s.id = 1 AND s.at > now() - %(minutes)s::int * interval '1 minute'
            UNION ALL
            SELECT l.id, true, 0 FROM unnest(%(noisy)s::text[]) AS l (id)) AS n
     GROUP BY n.id
), begins AS MATERIALIZED (
    SELECT CASE WHEN %(by_id)s::boolean OR %(after_rank)s::bigint = 0 THEN %(after_id)s::text
           END AS id
), first AS (
    SELECT k.id, k.is_noisy, k.rank
      FROM (SELECT n.id, n.is_noisy, t.name, coalesce(t.state, 'active') AS state,
                   CASE WHEN %(by_id)s::boolean THEN 0 WHEN n.is_noisy THEN 1e12 + n.jobs + 1
                        ELSE n.jobs + 1 END::bigint AS rank
              FROM noted AS n LEFT JOIN ojs_tenant AS t ON t.id = n.id
             WHERE (%(only_noisy)s::boolean AND n.is_noisy
                    OR NOT %(only_noisy)s::boolean AND NOT %(by_id)s::boolean)
               AND (t.id IS NOT NULL OR n.id = %(default)s::text)) AS k
     WHERE (%(state)s::text IS NULL OR k.state = %(state)s::text)
       AND (%(containing)s::text = '' OR strpos(lower(k.id), lower(%(containing)s::text)) > 0
            OR strpos(lower(k.name), lower(%(containing)s::text)) > 0)
       AND (%(after_id)s::text IS NULL OR k.rank < %(after_rank)s::bigint
            OR k.rank = %(after_rank)s::bigint AND k.id > %(after_id)s::text)
     ORDER BY k.rank DESC, k.id LIMIT %(size)s::int
), rest AS (
    (SELECT k.id
       FROM (SELECT t.id, t.name, t.state FROM ojs_tenant AS t
              WHERE t.id > coalesce((SELECT b.id FROM begins AS b), '')
              ORDER BY t.id LIMIT %(looked)s::int) AS k
      WHERE NOT %(only_noisy)s::boolean
        AND (%(by_id)s::boolean OR k.id <> ALL (ARRAY(SELECT n.id FROM noted AS n)))
        AND (%(state)s::text IS NULL OR k.state = %(state)s::text)
        AND (%(containing)s::text = '' OR strpos(lower(k.id), lower(%(containing)s::text)) > 0
             OR strpos(lower(k.name), lower(%(containing)s::text)) > 0)
      ORDER BY k.id LIMIT %(size)s::int)  -- ends the read early: no sort in between
    UNION ALL
    SELECT %(default)s::text
     WHERE NOT EXISTS (SELECT FROM ojs_tenant AS t WHERE t.id = %(default)s::text)
       AND NOT %(only_noisy)s::boolean
       AND (%(by_id)s::boolean OR NOT EXISTS (
            SELECT FROM noted AS n WHERE n.id = %(default)s::text))
       AND %(default)s::text > coalesce((SELECT b.id FROM begins AS b), '')
       AND coalesce(%(state)s::text, 'active') = 'active'
       AND strpos(lower(%(default)s::text), lower(%(containing)s::text)) > 0
), listed AS MATERIALIZED (
    SELECT * FROM (
        SELECT f.id, f.is_noisy, f.rank FROM first AS f
        UNION ALL
        SELECT r.id, coalesce((SELECT n.is_noisy FROM noted AS n WHERE n.id = r.id), false), 0
          FROM rest AS r) AS x
     ORDER BY x.rank DESC, x.id LIMIT %(size)s::int
)
SELECT l.id, l.rank, l.is_noisy, NULL AS further FROM listed AS l
UNION ALL
SELECT NULL, -1, NULL, z.id
  FROM (SELECT t.id FROM ojs_tenant AS t
         WHERE NOT %(only_noisy)s::boolean
           AND (SELECT count(*) FROM listed AS l) < %(size)s::int
           AND t.id > coalesce((SELECT b.id FROM begins AS b), '')
         ORDER BY t.id OFFSET %(looked)s::int - 1 LIMIT 1) AS z
 ORDER BY rank DESC, id
