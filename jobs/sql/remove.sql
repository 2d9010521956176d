-- remove: delete a discarded job for good.
-- Locks: the job row; its state is the guard.
WITH gone AS (
    DELETE FROM ojs_job AS j WHERE j.id = %(id)s::uuid AND j.state = 8
    RETURNING j.id, j.queue, j.type, j.tenant, j.finished_at
), delisted AS (
    DELETE FROM ojs_finished AS f USING gone AS g
     WHERE f.queue = g.queue AND f.kind IN (8, 9) AND f.finished_at = g.finished_at AND f.id = g.id
), progress AS (
    DELETE FROM ojs_progress AS p USING gone AS g WHERE p.job_id = g.id
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state)
    SELECT now(), 101, id, queue, type, tenant, 8 FROM gone
)
SELECT id FROM gone
