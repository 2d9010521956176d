-- The limit of retention: the same rows deleted in batches, without locks, events and other tables.
WITH old AS MATERIALIZED (
    SELECT f.ctid, f.id FROM bench_finished AS f
     WHERE f.queue = 'bench-in' AND f.kind = 6 ORDER BY f.finished_at, f.id LIMIT {batch}
), gone AS (
    DELETE FROM bench_finished AS f WHERE f.ctid = ANY (ARRAY(SELECT ctid FROM old))
)
DELETE FROM bench_job AS j WHERE j.id = ANY (ARRAY(SELECT id FROM old));
