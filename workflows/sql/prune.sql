-- prune: remove trees whose time is over and whose jobs are gone, at most `batch`. Trees that still
-- have a job are checked again later.
-- Locks: the outermost workflows, SKIP LOCKED.
WITH late AS MATERIALIZED (
    SELECT w.id FROM ojs_workflow AS w
     WHERE w.prune_at <= statement_timestamp()
     ORDER BY w.prune_at LIMIT %(batch)s::int FOR UPDATE SKIP LOCKED
), inside AS MATERIALIZED (
    SELECT l.id AS root_id, l.id FROM late AS l
     UNION ALL
    SELECT w.root_id, w.id FROM ojs_workflow AS w
     WHERE w.root_id = ANY (ARRAY(SELECT id FROM late)) AND w.parent_id IS NOT NULL
), kept AS MATERIALIZED (
    SELECT l.id FROM late AS l
     WHERE (SELECT true FROM inside AS i  -- not EXISTS: a plan could join all jobs for it
              JOIN ojs_workflow_step AS s ON s.workflow_id = i.id
              JOIN ojs_job AS j ON j.id = s.job_id
             WHERE i.root_id = l.id LIMIT 1)
), gone AS MATERIALIZED (
    SELECT i.id FROM inside AS i WHERE NOT EXISTS (SELECT 1 FROM kept AS k WHERE k.id = i.root_id)
), postponed AS (
    UPDATE ojs_workflow AS w
       SET prune_at = now() + %(again_ms)s::bigint * interval '1 millisecond'
     WHERE w.id = ANY (ARRAY(SELECT id FROM kept))
), slots AS (
    DELETE FROM ojs_workflow_slot AS c WHERE c.workflow_id = ANY (ARRAY(SELECT id FROM gone))
), steps AS (
    DELETE FROM ojs_workflow_step AS s WHERE s.workflow_id = ANY (ARRAY(SELECT id FROM gone))
), flows AS (
    DELETE FROM ojs_workflow AS w WHERE w.id = ANY (ARRAY(SELECT id FROM gone))
)
SELECT count(*)::int FROM late
