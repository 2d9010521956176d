-- schema_unbound: restore the initial bounds of this session.
-- Locks: none.
SELECT set_config(s.name, s.reset_val, false)
  FROM pg_settings AS s
 WHERE s.name IN ('lock_timeout', 'statement_timeout')
