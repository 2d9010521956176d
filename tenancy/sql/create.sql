-- create: make tenants that are not there; returns those that are new.
-- Locks: new rows, in order of their ids; ON CONFLICT waits for a concurrent maker.
INSERT INTO ojs_tenant (id, state, quota_mode, source)
SELECT id, 'active', 'hard', 'auto' FROM unnest(%(tenants)s::text[]) AS t (id) ORDER BY id
ON CONFLICT (id) DO NOTHING
RETURNING id
