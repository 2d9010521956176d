-- lock_lanes: a transaction that makes lanes (shared) reads the limits of their tenants. A transaction
-- that gives a tenant a limit (exclusive) changes its lanes. Each has to see the other's changes.
SELECT CASE WHEN %(exclusive)s::boolean THEN pg_advisory_xact_lock(20266607, 0)
            ELSE pg_advisory_xact_lock_shared(20266607, 0) END::text AS locked
