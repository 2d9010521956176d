-- lock_config_version: lock the version until the transaction ends; waits for another change.
SELECT version FROM ojs_terms WHERE id = 1 FOR NO KEY UPDATE
