-- hold: lock the row with which a job waits, so that no claim or promotion takes it meanwhile.
-- Locks: the row in the queue, or among the jobs that wait for a time.
WITH ready AS (
    SELECT r.id FROM ojs_ready AS r WHERE r.id = %(id)s::uuid FOR UPDATE
), later AS (
    SELECT x.id FROM ojs_later AS x WHERE x.id = %(id)s::uuid FOR UPDATE
)
SELECT (SELECT count(*) FROM ready) + (SELECT count(*) FROM later)
