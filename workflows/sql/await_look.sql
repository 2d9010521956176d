-- await_look: whether workflows have ended; one without a row is not visible. As in await_look.sql of jobs:
-- `is_certain` false: a transaction holds the row, and it may have looked for listeners too early.
-- Locks: the rows of the workflows, SKIP LOCKED, so the statement never waits.
WITH free AS MATERIALIZED (
    SELECT w.id, w.state FROM ojs_workflow AS w WHERE w.id = ANY (%(ids)s::uuid[])
       FOR SHARE SKIP LOCKED
)
SELECT w.id::text, f.id IS NOT NULL AS is_certain, coalesce(f.state, w.state) >= 2 AS has_ended
  FROM ojs_workflow AS w LEFT JOIN free AS f ON f.id = w.id
 WHERE w.id = ANY (%(ids)s::uuid[])
