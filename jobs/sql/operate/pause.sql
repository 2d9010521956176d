-- pause: pause or resume an existing queue; an event only when it changed.
WITH before AS (
    SELECT paused_at FROM ojs_queue WHERE name = %(queue)s::text FOR UPDATE
), stored AS (
    UPDATE ojs_queue AS q
       SET paused_at = CASE WHEN %(paused)s::boolean THEN coalesce(q.paused_at, now()) END,
           updated_at = now()
     WHERE q.name = %(queue)s::text
       AND (SELECT count(*) FROM before) >= 0  -- lock first: a row that was changed cannot be locked
    RETURNING q.paused_at, now() AS at
), told AS (
    INSERT INTO ojs_event (at, kind, queue, data)
    SELECT now(), CASE WHEN %(paused)s::boolean THEN 20 ELSE 21 END, %(queue)s::text,
           jsonb_build_object(CASE WHEN %(paused)s::boolean THEN 'paused_by' ELSE 'resumed_by' END,
                              %(actor)s::text)
     WHERE %(paused)s::boolean IS DISTINCT FROM
           coalesce((SELECT paused_at IS NOT NULL FROM before), false)
), woken AS (
    SELECT pg_notify('ojs_ready', %(queue)s::text) WHERE NOT %(paused)s::boolean
)
SELECT paused_at, at, (SELECT count(*) FROM woken) AS woken FROM stored
