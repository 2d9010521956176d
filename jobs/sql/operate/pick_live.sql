-- pick_live: up to `size` scheduled, pending, retryable or active jobs by filter, that were stored at
-- `asof`, newest id first. At most `looked` narrow rows are read; `rest` is where to continue, null at
-- the end. Kinds are not compared by themselves: see find_live.sql.
WITH looked AS MATERIALIZED (
    (SELECT l.id, l.lane_id FROM ojs_lease AS l
      WHERE %(state)s::int = 4 AND l.id < %(before)s::uuid
      ORDER BY l.id DESC LIMIT %(looked)s::int)
    UNION ALL
    (SELECT w.id, w.lane_id FROM ojs_later AS w
      WHERE (w.kind, w.id) >= (%(state)s::smallint, '00000000-0000-0000-0000-000000000000')
        AND (w.kind, w.id) < (%(state)s::smallint, %(before)s::uuid)
      ORDER BY w.kind DESC, w.id DESC LIMIT %(looked)s::int)
), found AS (
    SELECT k.id
      FROM looked AS k
     CROSS JOIN LATERAL (  -- OFFSET 0 keeps the planner from a join over the whole tables
           SELECT a.queue, a.tenant, a.priority FROM ojs_lane_key AS a WHERE a.id = k.lane_id
           OFFSET 0) AS a
     CROSS JOIN LATERAL (
           SELECT j.type, j.meta, j.error, j.created_at,
                  coalesce(j.enqueued_at, j.created_at) AS enqueued_at
             FROM ojs_job AS j WHERE j.id = k.id OFFSET 0) AS j
     WHERE (%(queue)s::text IS NULL OR a.queue = %(queue)s::text)
       AND (%(tenant)s::text IS NULL OR a.tenant = %(tenant)s::text)
       AND (%(priority)s::int IS NULL OR a.priority = %(priority)s::int)
       AND j.created_at <= %(asof)s::timestamptz
       AND (%(since)s::timestamptz IS NULL OR j.enqueued_at >= %(since)s::timestamptz)
       AND (%(until)s::timestamptz IS NULL OR j.enqueued_at < %(until)s::timestamptz)
       AND (%(type)s::text IS NULL OR j.type LIKE %(type)s::text)
       AND (%(meta)s::jsonb IS NULL OR j.meta @> %(meta)s::jsonb)
       AND (%(error_type)s::text IS NULL OR j.error ->> 'type' = %(error_type)s::text)
     ORDER BY k.id DESC LIMIT %(size)s::int
)
SELECT array(SELECT f.id FROM found AS f ORDER BY f.id DESC) AS ids,
       CASE WHEN (SELECT count(*) FROM found) >= %(size)s::int
            THEN (SELECT f.id FROM found AS f ORDER BY f.id LIMIT 1)
            WHEN (SELECT count(*) FROM looked) >= %(looked)s::int
            THEN (SELECT k.id FROM looked AS k ORDER BY k.id LIMIT 1) END AS rest
