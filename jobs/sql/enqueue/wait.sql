-- wait: wait for the transactions that have locked these jobs; returns how many jobs are live.
-- Locks: the narrow rows, in id order per table.
WITH ready AS MATERIALIZED (
    SELECT id FROM ojs_ready WHERE id = ANY (%(ids)s::uuid[]) ORDER BY id FOR UPDATE
), later AS MATERIALIZED (
    SELECT id FROM ojs_later WHERE id = ANY (%(ids)s::uuid[]) ORDER BY id FOR UPDATE
), lease AS MATERIALIZED (
    SELECT id FROM ojs_lease WHERE id = ANY (%(ids)s::uuid[]) ORDER BY id FOR UPDATE
)
SELECT (SELECT count(*) FROM ready) + (SELECT count(*) FROM later) + (SELECT count(*) FROM lease)
       AS live
