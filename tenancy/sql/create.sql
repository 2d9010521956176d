-- create: create missing tenants; returns the new ids.
-- Locks: new rows, in order of their ids; ON CONFLICT waits for a concurrent insert.
INSERT INTO ojs_tenant (id, state, quota_mode, source)
SELECT id, 'active', 'hard', 'auto' FROM unnest(%(tenants)s::text[]) AS t (id) ORDER BY id
ON CONFLICT (id) DO NOTHING
RETURNING id
