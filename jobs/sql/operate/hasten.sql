-- hasten: retryable -> available before its time, by hand. The attempts so far still count.
-- Locks: the waiting rows, in id order; then the locks of ojs_wake.
WITH ended AS (
    DELETE FROM ojs_later AS x USING (SELECT id FROM ojs_later
         WHERE id = ANY (%(ids)s::uuid[]) AND kind = 5 ORDER BY id FOR UPDATE) AS s
     WHERE x.id = s.id
    RETURNING x.id, x.lane_id, x.attempt, x.expires_at, x.due_at
), again AS (
    INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at, expires_at)
    SELECT id, lane_id, attempt, now(), expires_at FROM ended ORDER BY id
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt)
    SELECT now(), 100, e.id, j.queue, j.type, j.tenant, 5, 3, e.attempt
      FROM ended AS e JOIN ojs_job AS j ON j.id = e.id
/* kept */
)
SELECT e.id, (SELECT ojs_wake(array_agg(DISTINCT w.lane_id)) FROM ended AS w) AS woken
  FROM ended AS e
