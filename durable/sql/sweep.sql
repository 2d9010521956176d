-- sweep: delete rows whose job is gone, or has ended outside of the dead letter: a race or a removal
-- left them. It looks at `batch` jobs with an id above `after`, and returns the last of them.
-- Locks: the deleted rows.
WITH looked AS MATERIALIZED (
    SELECT u.id FROM (
        (SELECT c.job_id AS id FROM ojs_checkpoint AS c WHERE c.job_id > %(after)s::uuid
          ORDER BY c.job_id LIMIT %(batch)s::int)
         UNION
        (SELECT DISTINCT s.job_id FROM ojs_signal AS s WHERE s.job_id > %(after)s::uuid
          ORDER BY s.job_id LIMIT %(batch)s::int)
         UNION
        (SELECT w.job_id FROM ojs_wait AS w WHERE w.job_id > %(after)s::uuid
          ORDER BY w.job_id LIMIT %(batch)s::int)) AS u
     ORDER BY u.id LIMIT %(batch)s::int
), stale AS MATERIALIZED (
    SELECT k.id FROM looked AS k LEFT JOIN ojs_job AS j ON j.id = k.id
     WHERE j.id IS NULL OR (j.state IS NOT NULL AND j.dead_letter IS NOT TRUE)
), states AS (
    DELETE FROM ojs_checkpoint AS c USING stale AS s WHERE c.job_id = s.id
), signals AS (
    DELETE FROM ojs_signal AS g USING stale AS s WHERE g.job_id = s.id
), waits AS (
    DELETE FROM ojs_wait AS w USING stale AS s WHERE w.job_id = s.id
)
SELECT (SELECT count(*) FROM stale)::int, (SELECT count(*) FROM looked)::int,
       (SELECT max(k.id::text) FROM looked AS k)
