-- ojs_eligible: whether a claim may take jobs of a lane that is offered: the claim has not found it
-- exhausted, its limits are not closed, and its version key is wanted. PostgreSQL inlines the function.
CREATE OR REPLACE FUNCTION ojs_eligible(
    p_lane bigint, p_limits bigint[], p_version_key int,
    p_exhausted bigint[], p_closed bigint[], p_version_keys int[]
) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT p_lane <> ALL (p_exhausted)
       AND (p_closed IS NULL OR p_limits IS NULL OR NOT p_limits && p_closed)
       AND (p_version_keys IS NULL OR p_version_key = ANY (p_version_keys))
$$
