-- undo_forget: delete records of operations that can no longer be undone, at most `batch`, and the
-- operations without records. Returns how many rows are gone. Nothing else changes these records: each
-- change locks the operation first.
WITH late AS MATERIALIZED (
    SELECT o.id FROM ojs_undo AS o WHERE o.until < now() AND o.state <> 'undoing'
     ORDER BY o.until LIMIT 100 FOR UPDATE SKIP LOCKED
), old AS MATERIALIZED (
    SELECT u.place
      FROM late AS o
     CROSS JOIN LATERAL (
           SELECT u.ctid AS place FROM ojs_undo_job AS u WHERE u.undo_id = o.id
            ORDER BY u.undo_id, u.job_id LIMIT %(batch)s::int) AS u
     LIMIT %(batch)s::int
), gone AS (
    DELETE FROM ojs_undo_job AS u WHERE u.ctid = ANY (ARRAY(SELECT place FROM old)) RETURNING 1
), ended AS (
    DELETE FROM ojs_undo AS o
     WHERE o.id = ANY (ARRAY(SELECT id FROM late))
       AND (SELECT count(*) FROM old) < %(batch)s::int RETURNING 1
)
SELECT ((SELECT count(*) FROM gone) + (SELECT count(*) FROM ended))::int
