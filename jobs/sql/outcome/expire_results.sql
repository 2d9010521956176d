-- expire_results: delete the results of at most `batch` jobs whose `result_ttl` is over.
-- Locks: the job rows, SKIP LOCKED, then their expiries, as remove.sql does.
WITH due AS MATERIALIZED (
    SELECT x.id FROM ojs_result_expiry AS x WHERE x.due_at <= statement_timestamp()
     ORDER BY x.due_at LIMIT %(batch)s::int
), held AS MATERIALIZED (
    SELECT j.id FROM ojs_job AS j WHERE j.id = ANY (ARRAY(SELECT id FROM due))
       FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM ojs_result_expiry AS x WHERE x.id = ANY (ARRAY(SELECT id FROM held))
    RETURNING x.id
), stored AS (
    UPDATE ojs_job AS j SET result = NULL FROM gone AS g WHERE j.id = g.id
)
SELECT count(*)::int AS expired FROM gone
