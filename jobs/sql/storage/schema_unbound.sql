-- schema_unbound: give this session the bounds back that it began with.
-- Locks: none.
SELECT set_config(s.name, s.reset_val, false)
  FROM pg_settings AS s
 WHERE s.name IN ('lock_timeout', 'statement_timeout')
