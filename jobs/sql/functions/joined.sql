-- ojs_joined: the virtual time at which a lane joins others of its rank, the next of which is at
-- p_present (null: none waits). Not before it: idling earns no credit. Nor further beyond than one job
-- takes it, which is as far as turns among them do: what it got while none of them waited is nobody's
-- loss, and tenants who worked at different times begin as equals. Where jobs cost by duration
-- (p_timed) it may owe more than that.
CREATE OR REPLACE FUNCTION ojs_joined(
    p_vt float8, p_weight float8, p_timed boolean, p_present float8
) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    -- least and greatest pass over nulls
    SELECT greatest(p_present, CASE WHEN p_timed THEN p_vt
                                    ELSE least(p_vt, p_present + 1 / p_weight) END)
$$
