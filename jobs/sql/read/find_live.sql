-- find_live: ids of live jobs by filter, in one state or in any (null), newest id first or last.
-- At most `looked` narrow rows of a state are read, and the first `looked` of all states are kept:
-- behind the last of these, jobs of some state may be missing. `rest` as in find_any.sql.
-- Each branch stands alone, so that the index gives the order. The branches of ojs_later compare no kind
-- with `=`: otherwise the planner may read the other kinds by the ids alone. Lanes are looked up one by
-- one: for an unknown bound the planner expects few rows and would choose a bad join.
WITH read AS MATERIALIZED (
    (SELECT r.id, r.lane_id, NULL::timestamptz AS due_at FROM ojs_ready AS r
      WHERE (%(state)s::int IS NULL OR %(state)s::int = 3)
        AND NOT %(ascending)s::boolean AND r.id > %(low)s::uuid AND r.id < %(high)s::uuid
      ORDER BY r.id DESC LIMIT %(looked)s::int)
    UNION ALL
    (SELECT r.id, r.lane_id, NULL::timestamptz AS due_at FROM ojs_ready AS r
      WHERE (%(state)s::int IS NULL OR %(state)s::int = 3)
        AND %(ascending)s::boolean AND r.id > %(low)s::uuid AND r.id < %(high)s::uuid
      ORDER BY r.id LIMIT %(looked)s::int)
    UNION ALL
    (SELECT l.id, l.lane_id, NULL AS due_at FROM ojs_lease AS l
      WHERE (%(state)s::int IS NULL OR %(state)s::int = 4)
        AND NOT %(ascending)s::boolean AND l.id > %(low)s::uuid AND l.id < %(high)s::uuid
      ORDER BY l.id DESC LIMIT %(looked)s::int)
    UNION ALL
    (SELECT l.id, l.lane_id, NULL AS due_at FROM ojs_lease AS l
      WHERE (%(state)s::int IS NULL OR %(state)s::int = 4)
        AND %(ascending)s::boolean AND l.id > %(low)s::uuid AND l.id < %(high)s::uuid
      ORDER BY l.id LIMIT %(looked)s::int)
    UNION ALL
    (SELECT w.id, w.lane_id, w.due_at FROM ojs_later AS w
      WHERE (%(state)s::int IS NULL OR %(state)s::int = 1) AND NOT %(ascending)s::boolean
        AND (w.kind, w.id) > (1::smallint, %(low)s::uuid)
        AND (w.kind, w.id) < (1::smallint, %(high)s::uuid)
      ORDER BY w.kind DESC, w.id DESC LIMIT %(looked)s::int)
    UNION ALL
    (SELECT w.id, w.lane_id, w.due_at FROM ojs_later AS w
      WHERE (%(state)s::int IS NULL OR %(state)s::int = 2) AND NOT %(ascending)s::boolean
        AND (w.kind, w.id) > (2::smallint, %(low)s::uuid)
        AND (w.kind, w.id) < (2::smallint, %(high)s::uuid)
      ORDER BY w.kind DESC, w.id DESC LIMIT %(looked)s::int)
    UNION ALL
    (SELECT w.id, w.lane_id, w.due_at FROM ojs_later AS w
      WHERE (%(state)s::int IS NULL OR %(state)s::int = 5) AND NOT %(ascending)s::boolean
        AND (w.kind, w.id) > (5::smallint, %(low)s::uuid)
        AND (w.kind, w.id) < (5::smallint, %(high)s::uuid)
      ORDER BY w.kind DESC, w.id DESC LIMIT %(looked)s::int)
    UNION ALL
    (SELECT w.id, w.lane_id, w.due_at FROM ojs_later AS w
      WHERE (%(state)s::int IS NULL OR %(state)s::int = 1) AND %(ascending)s::boolean
        AND (w.kind, w.id) > (1::smallint, %(low)s::uuid)
        AND (w.kind, w.id) < (1::smallint, %(high)s::uuid)
      ORDER BY w.kind, w.id LIMIT %(looked)s::int)
    UNION ALL
    (SELECT w.id, w.lane_id, w.due_at FROM ojs_later AS w
      WHERE (%(state)s::int IS NULL OR %(state)s::int = 2) AND %(ascending)s::boolean
        AND (w.kind, w.id) > (2::smallint, %(low)s::uuid)
        AND (w.kind, w.id) < (2::smallint, %(high)s::uuid)
      ORDER BY w.kind, w.id LIMIT %(looked)s::int)
    UNION ALL
    (SELECT w.id, w.lane_id, w.due_at FROM ojs_later AS w
      WHERE (%(state)s::int IS NULL OR %(state)s::int = 5) AND %(ascending)s::boolean
        AND (w.kind, w.id) > (5::smallint, %(low)s::uuid)
        AND (w.kind, w.id) < (5::smallint, %(high)s::uuid)
      ORDER BY w.kind, w.id LIMIT %(looked)s::int)
), looked AS MATERIALIZED (
    SELECT r.id, r.lane_id, r.due_at FROM read AS r
     ORDER BY CASE WHEN %(ascending)s::boolean THEN r.id END,
              CASE WHEN NOT %(ascending)s::boolean THEN r.id END DESC
     LIMIT %(looked)s::int
), kept AS MATERIALIZED (
    SELECT k.id, row_number() OVER (
               ORDER BY CASE WHEN %(ascending)s::boolean THEN 1 ELSE -1 END
                        * CASE %(sort)s::text
                               WHEN 'priority' THEN (SELECT a.priority::float8 FROM ojs_lane_key AS a
                                                      WHERE a.id = k.lane_id)
                               WHEN 'scheduled_at' THEN extract(epoch FROM k.due_at)
                               END NULLS LAST,
                        CASE WHEN %(ascending)s::boolean THEN k.id END,
                        CASE WHEN NOT %(ascending)s::boolean THEN k.id END DESC) AS n
      FROM looked AS k
     WHERE (%(queue)s::text IS NULL AND %(tenant)s::text IS NULL OR (
            SELECT (%(queue)s::text IS NULL OR a.queue = %(queue)s::text)
                   AND (%(tenant)s::text IS NULL OR a.tenant = %(tenant)s::text)
              FROM ojs_lane_key AS a WHERE a.id = k.lane_id))
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
