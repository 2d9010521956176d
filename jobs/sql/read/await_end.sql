-- await_end: forget jobs that a listener waited for, and rows of listeners that died.
-- Locks: the deleted rows, SKIP LOCKED for those of other listeners.
WITH outlived AS (
    DELETE FROM ojs_awaited AS a
     WHERE (a.job_id, a.listener) IN (
               SELECT o.job_id, o.listener FROM ojs_awaited AS o
                WHERE o.until < now() AND o.listener <> %(listener)s::uuid
                  FOR UPDATE SKIP LOCKED)
)
DELETE FROM ojs_awaited AS a
 WHERE a.listener = %(listener)s::uuid AND a.job_id = ANY (%(ids)s::uuid[])
