-- postpone: available -> scheduled for `ids`, until a limit opens. `until` null: the time is unknown;
-- each job waits for half its age, from 1 s to 30 s, so it returns ever less often.
-- Locks: the narrow rows, SKIP LOCKED: a concurrent claim wins.
WITH ready AS (
    DELETE FROM ojs_ready AS r
     USING (SELECT id FROM ojs_ready WHERE id = ANY (%(ids)s::uuid[])
             ORDER BY id FOR UPDATE SKIP LOCKED) AS s
     WHERE r.id = s.id
    RETURNING r.id, r.lane_id, r.attempt, r.expires_at
), due AS (
    SELECT e.*, j.queue, j.type, j.tenant,
           coalesce(%(until)s::timestamptz,
                    now() + least(greatest((now() - j.created_at) / 2, interval '1 second'),
                                  interval '30 seconds')) AS at
      FROM ready AS e JOIN ojs_job AS j ON j.id = e.id
), waiting AS (
    INSERT INTO ojs_later (id, kind, due_at, lane_id, attempt, expires_at)
    SELECT id, 1, at, lane_id, attempt, expires_at FROM due
)
INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt, data)
SELECT now(), 2, id, queue, type, tenant, 3, 1, attempt,
       jsonb_build_object('scheduled_at', ojs_time(at))
  FROM due
RETURNING job_id
