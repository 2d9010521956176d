-- find_any: ids of jobs in any state by filter, newest id first or last, `low` and `high` excluded.
-- At most `looked` rows are read and sorted; `rest` is where to continue when that limit was reached.
WITH looked AS MATERIALIZED (
    (SELECT j.id, j.queue, j.tenant, j.priority, j.scheduled_at FROM ojs_job AS j
      WHERE NOT %(ascending)s::boolean AND j.id > %(low)s::uuid AND j.id < %(high)s::uuid
      ORDER BY j.id DESC LIMIT %(looked)s::int)
    UNION ALL
    (SELECT j.id, j.queue, j.tenant, j.priority, j.scheduled_at FROM ojs_job AS j
      WHERE %(ascending)s::boolean AND j.id > %(low)s::uuid AND j.id < %(high)s::uuid
      ORDER BY j.id LIMIT %(looked)s::int)
), kept AS MATERIALIZED (
    SELECT k.id, row_number() OVER (
               ORDER BY CASE WHEN %(ascending)s::boolean THEN 1 ELSE -1 END
                        * CASE %(sort)s::text WHEN 'priority' THEN k.priority::float8
                                              WHEN 'scheduled_at' THEN extract(epoch FROM k.scheduled_at)
                                              END NULLS LAST,
                        CASE WHEN %(ascending)s::boolean THEN k.id END,
                        CASE WHEN NOT %(ascending)s::boolean THEN k.id END DESC) AS n
      FROM looked AS k
     WHERE (%(queue)s::text IS NULL OR k.queue = %(queue)s::text)
       AND (%(tenant)s::text IS NULL OR k.tenant = %(tenant)s::text)
       AND (NOT %(is_wide)s::boolean OR (
            SELECT ojs_matches(j.type, j.version, j.priority, j.args, j.meta, j.error,
                       %(type)s::text, %(version)s::text, %(priority)s::int, %(args)s::text[],
                       %(meta)s::text[], %(error)s::text[], %(error_type)s::text,
                       %(fingerprint)s::text)
              FROM ojs_job AS j WHERE j.id = k.id))
)
SELECT array(SELECT k.id FROM kept AS k ORDER BY k.n
             OFFSET %(offset)s::int LIMIT %(size)s::int) AS ids,
       (SELECT count(*) FROM kept)::int AS matched,
       CASE WHEN (SELECT count(*) FROM looked) >= %(looked)s::int THEN
            (SELECT k.id FROM looked AS k
              ORDER BY CASE WHEN %(ascending)s::boolean THEN k.id END DESC,
                       CASE WHEN NOT %(ascending)s::boolean THEN k.id END LIMIT 1) END AS rest,
       NULL::timestamptz AS rest_at, NULL::timestamptz[] AS ends
