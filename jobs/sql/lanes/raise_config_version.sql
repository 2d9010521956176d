-- raise_config_version: raise the configuration version; the row's lock serializes changes.
UPDATE ojs_terms SET version = version + 1 WHERE id = 1 RETURNING version
