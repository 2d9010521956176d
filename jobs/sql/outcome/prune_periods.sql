-- prune_periods: remove at most `batch` counts of periods of `span_s` that are `age_ms` old from each
-- table.
WITH old AS (
    SELECT now() - %(age_ms)s::bigint * interval '1 millisecond' AS at
), latency AS (
    DELETE FROM ojs_latency AS m
     WHERE m.ctid = ANY (ARRAY(
           SELECT o.ctid FROM ojs_latency AS o
            WHERE o.span_s = %(span_s)s::int AND o.at < (SELECT at FROM old)
            ORDER BY o.at, o.queue, o.bucket LIMIT %(batch)s::int))
    RETURNING 1
), of_tenant AS (
    DELETE FROM ojs_tenant_period AS m
     WHERE m.ctid = ANY (ARRAY(
           SELECT o.ctid FROM ojs_tenant_period AS o
            WHERE o.span_s = %(span_s)s::int AND o.at < (SELECT at FROM old)
            ORDER BY o.at LIMIT %(batch)s::int))
    RETURNING 1
), of_dispatch AS (
    DELETE FROM ojs_dispatch_period AS m
     WHERE m.ctid = ANY (ARRAY(
           SELECT o.ctid FROM ojs_dispatch_period AS o
            WHERE o.span_s = %(span_s)s::int AND o.at < (SELECT at FROM old)
            ORDER BY o.at, o.queue, o.pool LIMIT %(batch)s::int))
    RETURNING 1
), of_objective AS (
    DELETE FROM ojs_objective_period AS m
     WHERE m.ctid = ANY (ARRAY(
           SELECT o.ctid FROM ojs_objective_period AS o
            WHERE o.span_s = %(span_s)s::int AND o.at < (SELECT at FROM old)
            ORDER BY o.at, o.queue, o.within_ms LIMIT %(batch)s::int))
    RETURNING 1
), counted AS (
    DELETE FROM ojs_period AS m
     WHERE m.ctid = ANY (ARRAY(
           SELECT o.ctid FROM ojs_period AS o
            WHERE o.span_s = %(span_s)s::int AND o.at < (SELECT at FROM old)
            ORDER BY o.at, o.queue, o.type LIMIT %(batch)s::int))
    RETURNING 1
)
SELECT greatest((SELECT count(*) FROM latency), (SELECT count(*) FROM of_tenant),
                (SELECT count(*) FROM of_dispatch), (SELECT count(*) FROM of_objective),
                (SELECT count(*) FROM counted))::int AS most
