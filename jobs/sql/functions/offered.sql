-- ojs_offered: whether the claim looks at a lane, given what it is. Put in place where it is used, so
-- that the partial index with these words serves.
CREATE OR REPLACE FUNCTION ojs_offered(p_active boolean, p_blocked_by bigint, p_paused boolean)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT p_active AND p_blocked_by IS NULL AND NOT p_paused
$$
