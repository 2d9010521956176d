-- amend: subtract drift from the counts; `drifts` is one JSON array, see drifts.sql and size_drifts.sql:
-- `table` names the count. Events aggregated since stay counted, since this adds a difference.
-- Locks: the position of the aggregation first, waited for, as in aggregate_events.sql; then counts.
WITH position AS MATERIALIZED (
    SELECT 1 FROM ojs_fold_position WHERE id = 1 FOR UPDATE
), drift AS MATERIALIZED (
    SELECT d.* FROM json_to_recordset(%(drifts)s::json) AS d (
               "table" text, tenant text, queue text, state smallint, excess bigint)
     WHERE (SELECT count(*) FROM position) >= 0
), depth AS (
    INSERT INTO ojs_depth AS c (queue, state, jobs)
    SELECT d.queue, d.state, -d.excess FROM drift AS d WHERE d.table = 'ojs_depth' ORDER BY 1, 2
    ON CONFLICT (queue, state) DO UPDATE SET jobs = c.jobs + excluded.jobs
), size AS (
    INSERT INTO ojs_queue_size AS c (queue, bytes)
    SELECT d.queue, -d.excess FROM drift AS d WHERE d.table = 'ojs_queue_size' ORDER BY 1
    ON CONFLICT (queue) DO UPDATE SET bytes = c.bytes + excluded.bytes
), tenant_depth AS (
    INSERT INTO ojs_tenant_depth AS c (tenant, queue, state, jobs)
    SELECT d.tenant, d.queue, d.state, -d.excess FROM drift AS d
     WHERE d.table = 'ojs_tenant_depth' ORDER BY 1, 2, 3
    ON CONFLICT (tenant, queue, state) DO UPDATE SET jobs = c.jobs + excluded.jobs
)
SELECT count(*)::int AS amended FROM drift
