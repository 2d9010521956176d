-- hold: take the stripe of a tree before its rows, so that what is read next stays true.
-- Locks: the stripe; exclusive keeps out every end of a member, shared those who cancel.
SELECT CASE WHEN %(exclusive)s::boolean
            THEN pg_advisory_xact_lock(20266609, hashtext(%(root_id)s::uuid::text) & 127)
            ELSE pg_advisory_xact_lock_shared(20266609, hashtext(%(root_id)s::uuid::text) & 127) END
