-- prune_config_changes: remove at most `batch` changes of the configuration that are `age_ms` old.
DELETE FROM ojs_config_change AS c
 WHERE c.id = ANY (ARRAY(
       SELECT o.id FROM ojs_config_change AS o
        WHERE o.at < now() - %(age_ms)s::bigint * interval '1 millisecond'
        ORDER BY o.at LIMIT %(batch)s::int))
RETURNING c.id
