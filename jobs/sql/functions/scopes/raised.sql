-- ojs_raised: return the virtual time of a lane of a scope. p_vt is the stored lower bound;
-- p_served the cost of its tenant in the scope, and p_paid the part of it that the lane was charged
-- before. p_present is the virtual time of the next lane of the queue.
--
-- The result is at most p_present plus the cost of a thousand jobs of the lane, unless p_vt is
-- larger. Without this bound, a tenant that got many jobs in a queue where no other tenant had any
-- would get none here for as long. See ADR 0018.
CREATE OR REPLACE FUNCTION ojs_raised(
    p_vt float8, p_paid float8, p_weight float8, p_served float8, p_present float8
) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    -- p_served is smaller than p_paid if the server has removed the row of the cost meanwhile.
    SELECT least(p_vt + greatest(p_served - p_paid, 0),
                 greatest(p_vt, p_present + 1000 / p_weight))
$$
