-- ojs_eligible: return whether a claim may take jobs of an offered lane. Every search for lanes to
-- pick calls it, so a rule about a lane that gives no job is a condition here. The queue rotation
-- repeats only the condition of the version key. PostgreSQL inlines the function as long as it is
-- one expression without a subquery.
--
-- Three conditions apply. The lane is not in p_exhausted. None of its limits is in p_closed (null:
-- no limit is closed). The worker accepts its version key (p_version_keys; null: any).
CREATE OR REPLACE FUNCTION ojs_eligible(
    p_lane ojs_lane, p_exhausted bigint[], p_closed bigint[], p_version_keys int[]
) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT p_lane.id <> ALL (p_exhausted)
       AND (p_closed IS NULL OR p_lane.limits IS NULL OR NOT p_lane.limits && p_closed)
       AND (p_version_keys IS NULL OR p_lane.route = ANY (p_version_keys))
$$
