-- find_ended: ids of ended jobs by kind (terminal codes, 9 for the dead letter), latest end first or
-- last, and their ends. At most `looked` rows are read, in that order: see ojs_ends. A list continues
-- behind the end and id of its last job, so the ids must follow that order unless `sort` names another.
-- `rest` is as in find_any.sql, with the time of the end.
WITH looked AS MATERIALIZED (
    SELECT e.id, e.finished_at
      FROM ojs_ends(%(queue)s::text, %(kinds)s::smallint[], %(ended_since)s::timestamptz,
                    %(ended_until)s::timestamptz, %(at)s::timestamptz, %(after)s::uuid,
                    %(ascending)s::boolean, %(looked)s::int) AS e
), kept AS MATERIALIZED (
    SELECT k.id, k.finished_at, row_number() OVER (
               ORDER BY CASE WHEN %(ascending)s::boolean THEN 1 ELSE -1 END
                        * CASE %(sort)s::text
                               WHEN 'priority' THEN (SELECT j.priority::float8 FROM ojs_job AS j
                                                      WHERE j.id = k.id)
                               WHEN 'scheduled_at' THEN
                                    (SELECT extract(epoch FROM j.scheduled_at) FROM ojs_job AS j
                                      WHERE j.id = k.id)
                               END NULLS LAST,
                        CASE WHEN %(ascending)s::boolean
                              AND %(sort)s::text IS DISTINCT FROM 'created_at'
                             THEN k.finished_at END,
                        CASE WHEN NOT %(ascending)s::boolean
                              AND %(sort)s::text IS DISTINCT FROM 'created_at'
                             THEN k.finished_at END DESC,
                        CASE WHEN %(ascending)s::boolean THEN k.id END,
                        CASE WHEN NOT %(ascending)s::boolean THEN k.id END DESC) AS n
      FROM looked AS k
     WHERE k.id > %(low)s::uuid AND k.id < %(high)s::uuid
       AND (%(tenant)s::text IS NULL
            OR (SELECT j.tenant FROM ojs_job AS j WHERE j.id = k.id) = %(tenant)s::text)
       AND (NOT %(is_wide)s::boolean OR (
            SELECT ojs_matches(j.type, j.version, j.priority, j.args, j.meta, j.error,
                       %(type)s::text, %(version)s::text, %(priority)s::int, %(args)s::text[],
                       %(meta)s::text[], %(error)s::text[], %(error_type)s::text,
                       %(fingerprint)s::text)
              FROM ojs_job AS j WHERE j.id = k.id))
), last AS (
    SELECT k.id, k.finished_at FROM looked AS k
     WHERE (SELECT count(*) FROM looked) >= %(looked)s::int
     ORDER BY CASE WHEN %(ascending)s::boolean THEN k.finished_at END DESC,
              CASE WHEN NOT %(ascending)s::boolean THEN k.finished_at END,
              CASE WHEN %(ascending)s::boolean THEN k.id END DESC,
              CASE WHEN NOT %(ascending)s::boolean THEN k.id END
     LIMIT 1
)
SELECT array(SELECT k.id FROM kept AS k ORDER BY k.n
             OFFSET %(offset)s::int LIMIT %(size)s::int) AS ids,
       (SELECT count(*) FROM kept)::int AS matched,
       (SELECT id FROM last) AS rest, (SELECT finished_at FROM last) AS rest_at,
       array(SELECT k.finished_at FROM kept AS k ORDER BY k.n
             OFFSET %(offset)s::int LIMIT %(size)s::int) AS ends
