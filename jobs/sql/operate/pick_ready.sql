-- pick_ready: up to `size` available jobs by filter, that were available at `asof`, lane by lane.
-- At most `looked` rows are read; `rest_lane`, `rest_seq` are where to continue, null at the end.
WITH looked AS MATERIALIZED (
    SELECT r.id, r.lane_id, r.seq, r.enqueued_at
      FROM ojs_lane_key AS a
     CROSS JOIN LATERAL (
           SELECT r.id, r.lane_id, r.seq, r.enqueued_at FROM ojs_ready AS r
            WHERE r.lane_id = a.id
              AND r.seq > CASE WHEN a.id = %(lane)s::bigint THEN %(seq)s::bigint ELSE -1 END
            ORDER BY r.lane_id, r.seq LIMIT %(looked)s::int) AS r
     WHERE a.id >= %(lane)s::bigint
       AND (%(queue)s::text IS NULL OR a.queue = %(queue)s::text)
       AND (%(tenant)s::text IS NULL OR a.tenant = %(tenant)s::text)
       AND (%(priority)s::int IS NULL OR a.priority = %(priority)s::int)
     ORDER BY a.id, r.seq LIMIT %(looked)s::int
), found AS (
    SELECT k.* FROM looked AS k
     WHERE k.enqueued_at <= %(asof)s::timestamptz
       AND (%(since)s::timestamptz IS NULL OR k.enqueued_at >= %(since)s::timestamptz)
       AND (%(until)s::timestamptz IS NULL OR k.enqueued_at < %(until)s::timestamptz)
       AND (%(type)s::text IS NULL AND %(meta)s::jsonb IS NULL AND %(error_type)s::text IS NULL
            OR (SELECT (%(type)s::text IS NULL OR j.type LIKE %(type)s::text)
                   AND (%(meta)s::jsonb IS NULL OR j.meta @> %(meta)s::jsonb)
                   AND (%(error_type)s::text IS NULL OR j.error ->> 'type' = %(error_type)s::text)
                  FROM ojs_job AS j WHERE j.id = k.id))
     ORDER BY k.lane_id, k.seq LIMIT %(size)s::int
), place AS (
    SELECT p.lane_id, p.seq
      FROM (SELECT f.lane_id, f.seq FROM found AS f
             WHERE (SELECT count(*) FROM found) >= %(size)s::int
            UNION ALL
            SELECT k.lane_id, k.seq FROM looked AS k
             WHERE (SELECT count(*) FROM found) < %(size)s::int
               AND (SELECT count(*) FROM looked) >= %(looked)s::int) AS p
     ORDER BY p.lane_id DESC, p.seq DESC LIMIT 1
)
SELECT array(SELECT f.id FROM found AS f ORDER BY f.lane_id, f.seq) AS ids,
       (SELECT lane_id FROM place) AS rest_lane, (SELECT seq FROM place) AS rest_seq
