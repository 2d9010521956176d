-- live: ids of live jobs in one state, newest id first, by filter.
-- At most `looked` narrow rows are read, so a rare match cannot make the page scan a table;
-- `rest` is where to look on when that limit was reached before the page was full.
WITH looked AS MATERIALIZED (
    (SELECT r.id, r.lane_id FROM ojs_ready AS r
      WHERE %(state)s::int = 3 AND (%(before)s::uuid IS NULL OR r.id < %(before)s::uuid)
      ORDER BY r.id DESC LIMIT %(looked)s::int)
    UNION ALL
    (SELECT l.id, l.lane_id FROM ojs_lease AS l
      WHERE %(state)s::int = 4 AND (%(before)s::uuid IS NULL OR l.id < %(before)s::uuid)
      ORDER BY l.id DESC LIMIT %(looked)s::int)
    UNION ALL
    (SELECT w.id, w.lane_id FROM ojs_later AS w
      WHERE w.kind = %(state)s::int AND (%(before)s::uuid IS NULL OR w.id < %(before)s::uuid)
      ORDER BY w.id DESC LIMIT %(looked)s::int)
), found AS (
    SELECT k.id FROM looked AS k JOIN ojs_lane AS a ON a.id = k.lane_id
     WHERE (%(queue)s::text IS NULL OR a.queue = %(queue)s::text)
       AND (%(tenant)s::text IS NULL OR a.tenant = %(tenant)s::text)
       AND (%(type)s::text IS NULL OR EXISTS (
            SELECT 1 FROM ojs_job AS j WHERE j.id = k.id AND j.type LIKE %(type)s::text))
     ORDER BY k.id DESC LIMIT %(size)s::int
)
SELECT array(SELECT f.id FROM found AS f ORDER BY f.id DESC) AS ids,
       CASE WHEN (SELECT count(*) FROM looked) >= %(looked)s::int
            THEN (SELECT k.id FROM looked AS k ORDER BY k.id LIMIT 1) END AS rest
