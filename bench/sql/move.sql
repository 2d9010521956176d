-- The limit of promotion: the same narrow rows moved, without events, job rows and lanes.
WITH due AS MATERIALIZED (
    SELECT x.ctid FROM bench_later AS x WHERE x.due_at <= statement_timestamp()
     ORDER BY x.due_at, x.id LIMIT {batch} FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM bench_later AS x WHERE x.ctid = ANY (ARRAY(SELECT ctid FROM due)) RETURNING x.*
)
INSERT INTO bench_ready (id, lane_id, attempt, enqueued_at)
SELECT id, lane_id, attempt, now() FROM gone;
