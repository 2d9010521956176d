-- prune_audit: remove at most `batch` entries of the audit log that are `age_ms` old.
WITH gone AS (
    DELETE FROM ojs_audit AS a
     WHERE a.id = ANY (ARRAY(
           SELECT o.id FROM ojs_audit AS o
            WHERE o.at < now() - %(age_ms)s::bigint * interval '1 millisecond'
            ORDER BY o.at LIMIT %(batch)s::int))
    RETURNING 1
)
SELECT count(*)::int FROM gone
