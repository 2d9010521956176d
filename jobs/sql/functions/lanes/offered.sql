-- ojs_offered: return whether the claim looks at a lane, from three of the lane's columns.
-- PostgreSQL inlines it, so the partial index with the same expression applies.
CREATE OR REPLACE FUNCTION ojs_offered(p_active boolean, p_blocked_by bigint, p_paused boolean)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT p_active AND p_blocked_by IS NULL AND NOT p_paused
$$
