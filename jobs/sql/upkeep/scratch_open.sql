-- scratch_open: name this session's scratch schema and its tables; nothing is made yet.
-- Locks: the schema's name, exclusive, until the session ends: a schema with a free name is a left-over.
SELECT pg_advisory_lock(20266611, hashtext(%(name)s::text)),
       set_config('ojs.scratch', %(name)s::text, false),
       set_config('ojs.tables', %(tables)s::text, false),
       set_config('ojs.copied', %(copied)s::text, false),
       set_config('ojs.unread', %(unread)s::text, false),
       set_config('synchronous_commit', 'off', false),
       set_config('jit', 'off', false)
