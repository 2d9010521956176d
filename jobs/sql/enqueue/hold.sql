-- hold: lock live jobs without waiting; jobs that are locked elsewhere, or just moved, are absent.
-- Locks: the narrow rows, SKIP LOCKED: the caller holds fingerprints, and must not wait for a job.
WITH ready AS MATERIALIZED (
    SELECT id FROM ojs_ready WHERE id = ANY (%(ids)s::uuid[]) FOR UPDATE SKIP LOCKED
), later AS MATERIALIZED (
    SELECT id FROM ojs_later WHERE id = ANY (%(ids)s::uuid[]) FOR UPDATE SKIP LOCKED
), lease AS MATERIALIZED (
    SELECT id FROM ojs_lease WHERE id = ANY (%(ids)s::uuid[]) FOR UPDATE SKIP LOCKED
)
SELECT id FROM ready UNION ALL SELECT id FROM later UNION ALL SELECT id FROM lease
