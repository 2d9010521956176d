-- hold: lock the stripe of a tree before its rows, so that later reads stay valid.
-- Locks: the stripe; exclusive keeps out each end of a member, shared keeps out cancels.
SELECT CASE WHEN %(exclusive)s::boolean
            THEN pg_advisory_xact_lock(20266609, hashtext(%(root_id)s::uuid::text) & 127)
            ELSE pg_advisory_xact_lock_shared(20266609, hashtext(%(root_id)s::uuid::text) & 127) END
