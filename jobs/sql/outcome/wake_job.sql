-- wake_job: scheduled -> due now, for a job whose signal has arrived. The loop `promote`, or a FETCH,
-- makes it available.
-- Locks: the waiting row.
UPDATE ojs_later AS x SET due_at = now()
 WHERE x.id = %(id)s::uuid AND x.kind = 1 AND x.due_at > now()
RETURNING x.id
