-- ojs_awake: tell whether a lane that receives a job is visible to the claim, and keep it so; null: it
-- is gone.
-- Locks: the lane's stripe, shared, until commit; why: ojs_wake. The look comes after the lock, with
-- the fresh snapshot that a function body gets.
CREATE OR REPLACE FUNCTION ojs_awake(p_lane bigint) RETURNS boolean
LANGUAGE plpgsql STRICT AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(20266603, (p_lane % 128)::int);
    RETURN (SELECT l.active FROM ojs_lane AS l WHERE l.id = p_lane);
END $$
