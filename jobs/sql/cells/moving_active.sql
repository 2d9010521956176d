-- moving_active: how many jobs of a tenant are active.
-- Locks: none.
SELECT count(*)::int FROM ojs_lease AS x WHERE x.tenant = %(tenant)s::text
