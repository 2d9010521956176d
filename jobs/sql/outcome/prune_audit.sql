-- prune_audit: remove at most `batch` entries of the audit log that are `age_ms` old. The trigger of the
-- table requires the setting, which ends with the transaction.
WITH gone AS (
    DELETE FROM ojs_audit AS a
     WHERE (SELECT set_config('ojs.audit_removal', 'on', true)) = 'on'
       AND a.id = ANY (ARRAY(
           SELECT o.id FROM ojs_audit AS o
            WHERE o.at < now() - %(age_ms)s::bigint * interval '1 millisecond'
            ORDER BY o.at LIMIT %(batch)s::int))
    RETURNING 1
)
SELECT count(*)::int FROM gone
