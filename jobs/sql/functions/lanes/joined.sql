-- ojs_joined: return the virtual time at which a lane joins the lanes of its rank. p_present is the
-- virtual time of the next of these lanes (null: there is none).
--
-- The lane joins at p_present at the earliest: idle time earns no credit. It joins at most one of
-- its jobs beyond p_present: lanes that share jobs lie no further from each other. A lane that lies
-- further got its jobs while no other lane waited, so they count against no tenant (ADR 0014). If
-- jobs cost by duration (p_timed), a long job may cost more than one job, so the second bound does
-- not apply.
CREATE OR REPLACE FUNCTION ojs_joined(
    p_vt float8, p_weight float8, p_timed boolean, p_present float8
) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    -- least and greatest ignore nulls
    SELECT greatest(p_present, CASE WHEN p_timed THEN p_vt
                                    ELSE least(p_vt, p_present + 1 / p_weight) END)
$$
