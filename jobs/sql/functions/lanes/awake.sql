-- ojs_awake: return whether a lane that receives a job is `active`; null: the lane does not exist.
-- An active lane stays active until the transaction ends.
-- Locks: the lane's stripe (shared), until commit; for the reason see ojs_wake. The read is a
-- statement of its own after the lock, so its snapshot is as new as the lock.
CREATE OR REPLACE FUNCTION ojs_awake(p_lane bigint) RETURNS boolean
LANGUAGE plpgsql STRICT AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(20266603, (p_lane % 128)::int);
    RETURN (SELECT l.active FROM ojs_lane AS l WHERE l.id = p_lane);
END $$
