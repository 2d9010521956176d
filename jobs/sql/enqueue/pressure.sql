-- pressure: emit events of bounded queues that reached their warning threshold since the last run, and
-- of queues that are below it again. The state is in the row, so each crossing is emitted once.
-- Locks: the rows of the queues that change, in order of their names.
WITH bounded AS MATERIALIZED (
    SELECT q.name, q.pressed_at IS NOT NULL AS was_pressed,
           (q.config -> 'backpressure' ->> 'max_depth')::bigint AS max_depth,
           (q.config -> 'backpressure' ->> 'max_size_bytes')::bigint AS max_size,
           coalesce((q.config -> 'backpressure' ->> 'warning_threshold')::float8,
                    %(threshold)s::float8) AS threshold
      FROM ojs_queue AS q WHERE q.config ? 'backpressure' OR q.pressed_at IS NOT NULL
), used AS MATERIALIZED (
    SELECT b.name, b.was_pressed, b.threshold, u.*
      FROM bounded AS b
      LEFT JOIN ojs_loads(ARRAY(SELECT name FROM bounded)) AS l ON l.queue = b.name
     CROSS JOIN LATERAL (
           -- the most used bound; null for a queue that is no longer bounded
           SELECT x.unit, x.held, x.bound, x.held::float8 / x.bound AS ratio
             FROM (VALUES ('jobs', coalesce(l.jobs, 0), b.max_depth),
                          ('bytes', coalesce(l.bytes, 0), b.max_size)) AS x (unit, held, bound)
            ORDER BY x.held::float8 / x.bound DESC NULLS LAST LIMIT 1) AS u
), crossed AS MATERIALIZED (
    SELECT q.name FROM ojs_queue AS q
     WHERE q.name = ANY (ARRAY(SELECT u.name FROM used AS u
            WHERE u.was_pressed <> coalesce(u.ratio >= u.threshold, false)))
     ORDER BY q.name FOR NO KEY UPDATE
), changed AS (
    UPDATE ojs_queue AS q SET pressed_at = CASE WHEN NOT u.was_pressed THEN now() END
      FROM used AS u, crossed AS c
     WHERE q.name = c.name AND u.name = c.name
       AND (q.pressed_at IS NOT NULL) = u.was_pressed  -- no other process has emitted meanwhile
    RETURNING q.name, q.pressed_at, u.unit, u.held, u.bound, u.ratio, u.threshold
)
INSERT INTO ojs_event (at, kind, queue, data)
SELECT now(), CASE WHEN pressed_at IS NULL THEN 73 ELSE 70 END, name,
       jsonb_strip_nulls(jsonb_build_object('queue', name, 'depth', held, 'bound', bound,
           'unit', unit, 'pressure', round(ratio::numeric, 4), 'threshold', threshold))
  FROM changed ORDER BY name
RETURNING queue
