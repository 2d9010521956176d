-- ojs_raised: the virtual time of a lane of a scope, from the lower bound that it has (p_vt) and what
-- its tenant has got of the scope, of which it was charged p_paid before. p_present is that of the next
-- lane of the queue. No further beyond it than a thousand jobs take a lane: what a tenant gets where
-- others want nothing is held against it for so long, and no longer. See ADR 0018.
CREATE OR REPLACE FUNCTION ojs_raised(
    p_vt float8, p_paid float8, p_weight float8, p_served float8, p_present float8
) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    -- a sum that is less was forgotten meanwhile
    SELECT least(p_vt + greatest(p_served - p_paid, 0),
                 greatest(p_vt, p_present + 1000 / p_weight))
$$
