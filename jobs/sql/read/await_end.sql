-- await_end: forget jobs that a listener waited for, and rows of listeners that died.
-- Locks: the deleted rows, SKIP LOCKED for those of other listeners.
WITH outlived AS (
    SELECT a.job_id, a.listener FROM ojs_awaited AS a WHERE a.until < now() FOR UPDATE SKIP LOCKED
)
DELETE FROM ojs_awaited AS a
 WHERE (a.listener = %(listener)s::uuid AND a.job_id = ANY (%(ids)s::uuid[]))
    OR (a.job_id, a.listener) IN (SELECT o.job_id, o.listener FROM outlived AS o)
