-- ojs_eligible: return whether a claim may take jobs of an offered lane: the claim has not found
-- the lane exhausted, the lane's limits are not closed, and the worker accepts its version key.
-- PostgreSQL inlines the function.
CREATE OR REPLACE FUNCTION ojs_eligible(
    p_lane bigint, p_limits bigint[], p_version_key int,
    p_exhausted bigint[], p_closed bigint[], p_version_keys int[]
) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT p_lane <> ALL (p_exhausted)
       AND (p_closed IS NULL OR p_limits IS NULL OR NOT p_limits && p_closed)
       AND (p_version_keys IS NULL OR p_version_key = ANY (p_version_keys))
$$
