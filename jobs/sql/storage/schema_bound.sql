-- schema_bound: bound the waits of this session for locks; its statements have no time limit.
-- Locks: none.
SELECT set_config('lock_timeout', %(lock_ms)s::int::text, false),
       set_config('statement_timeout', '0', false)
