-- await_look: whether jobs have ended, after await_begin. A job without a row is not visible.
-- `is_certain` false: a transaction holds the job's row, and it may have looked for listeners too early:
-- look again after it. Every later end notifies.
-- Locks: the rows of the jobs, SKIP LOCKED, so the statement never waits.
WITH free AS MATERIALIZED (
    SELECT j.id, j.state FROM ojs_job AS j WHERE j.id = ANY (%(ids)s::uuid[])
       FOR SHARE SKIP LOCKED
)
SELECT j.id::text, f.id IS NOT NULL AS is_certain, coalesce(f.state, j.state) IS NOT NULL AS has_ended
  FROM ojs_job AS j LEFT JOIN free AS f ON f.id = j.id
 WHERE j.id = ANY (%(ids)s::uuid[])
