-- remove: delete ended jobs with all their rows; `states` are the states that may be removed.
-- tests/jobs/sql/test_rows_of_jobs.py lists the tables. `pruned`: by retention. Then
-- `archive` keeps a copy of the row, and one event stands for all jobs of a kind.
-- Locks: the job rows, in id order; their state is the guard.
WITH held AS MATERIALIZED (
    SELECT j.id FROM ojs_job AS j
     WHERE j.id = ANY (%(ids)s::uuid[]) AND j.state = ANY (%(states)s::int[])
     ORDER BY j.id FOR UPDATE
), gone AS (
    DELETE FROM ojs_job AS j WHERE j.id = ANY (ARRAY(SELECT id FROM held)) RETURNING j.*
), delisted AS (
    DELETE FROM ojs_finished AS f USING gone AS g
     WHERE f.queue = g.queue AND f.kind = CASE WHEN g.dead_letter THEN 9 ELSE g.state END
       AND f.finished_at = g.finished_at AND f.id = g.id
), progress AS (
    DELETE FROM ojs_progress AS p WHERE p.job_id = ANY (ARRAY(SELECT id FROM held))
    RETURNING p.*
), unmarked AS (
    DELETE FROM ojs_unique AS u WHERE u.job_id = ANY (ARRAY(SELECT id FROM held))
    RETURNING u.*
), replay AS (
    DELETE FROM ojs_replay AS r WHERE r.job_id = ANY (ARRAY(SELECT id FROM held))
    RETURNING r.*
), expiry AS (
    DELETE FROM ojs_result_expiry AS x WHERE x.id = ANY (ARRAY(SELECT id FROM held))
    RETURNING x.*
), archived AS (
    INSERT INTO ojs_archived_job AS a (id, queue, finished_at, job)
    SELECT g.id, g.queue, g.finished_at, to_jsonb(g) FROM gone AS g WHERE %(archive)s::boolean
    ON CONFLICT (id) DO UPDATE  -- the id was used again after its first job was removed
       SET queue = excluded.queue, finished_at = excluded.finished_at,
           archived_at = excluded.archived_at, job = excluded.job
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, data)
    SELECT now(), 101, one, queue, type, tenant, state,
           CASE WHEN %(pruned)s::boolean THEN jsonb_build_object('count', count(*)) END
      FROM (SELECT g.*, CASE WHEN NOT %(pruned)s::boolean THEN g.id END AS one FROM gone AS g) AS g
     GROUP BY one, queue, type, tenant, state
/* kept */
)
SELECT id FROM gone
