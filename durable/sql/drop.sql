-- drop: delete the checkpoints, signals and waits of jobs; with `ended` only those of jobs that
-- ended outside of the dead letter. A job that no other extension follows is as if it never had a
-- checkpoint. `only_state`: signals and waits stay.
-- With `ended` it also returns the states whose steps are cancelled with their job, and the parents
-- of the ended jobs; see ojs_tasks.children.
-- Locks: the checkpoints, then the jobs' rows.
WITH gone AS (
    DELETE FROM ojs_checkpoint AS c
     WHERE c.job_id = ANY (%(ids)s::uuid[])
       AND (NOT %(ended)s::boolean OR c.job_id IN (
            SELECT j.id FROM ojs_job AS j
             WHERE j.id = ANY (%(ids)s::uuid[]) AND j.state IS NOT NULL
               AND j.dead_letter IS NOT TRUE))
    RETURNING c.job_id, c.is_alone, c.state
), unmarked AS (
    UPDATE ojs_job AS j
       SET watched = j.watched AND NOT g.is_alone, attributes = j.attributes - 'last_checkpoint'
      FROM gone AS g WHERE j.id = g.job_id
), released AS (
    UPDATE ojs_lease AS l SET watched = false
      FROM gone AS g WHERE l.id = g.job_id AND g.is_alone
), unsent AS (
    DELETE FROM ojs_signal AS s USING gone AS g
     WHERE NOT %(only_state)s::boolean AND s.job_id = g.job_id
), resumed AS (
    DELETE FROM ojs_wait AS w USING gone AS g
     WHERE NOT %(only_state)s::boolean AND w.job_id = g.job_id
)
SELECT g.job_id,
       CASE WHEN %(ended)s::boolean AND position('"with_parent"' IN g.state) > 0 THEN g.state END,
       NULL::text
  FROM gone AS g
 UNION ALL
SELECT j.id, NULL, j.meta ->> 'ojs.parent'
  FROM ojs_job AS j
 WHERE %(ended)s::boolean AND j.id = ANY (%(ids)s::uuid[]) AND j.meta ->> 'ojs.parent' IS NOT NULL
