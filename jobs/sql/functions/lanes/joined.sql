-- ojs_joined: return the virtual time at which a lane joins the lanes of its rank. p_present is the
-- virtual time of the next of these lanes (null: none waits).
--
-- The lane joins no earlier than p_present: idle time earns no credit. It joins at most one job
-- beyond it, which is the distance that turns among the lanes reach. Its starts while no other lane
-- waited cost no tenant anything, so tenants that worked at different times begin as equals. If
-- jobs cost by duration (p_timed), the lane may owe more than one job.
CREATE OR REPLACE FUNCTION ojs_joined(
    p_vt float8, p_weight float8, p_timed boolean, p_present float8
) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    -- least and greatest ignore nulls
    SELECT greatest(p_present, CASE WHEN p_timed THEN p_vt
                                    ELSE least(p_vt, p_present + 1 / p_weight) END)
$$
