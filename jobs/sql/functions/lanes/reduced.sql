-- ojs_reduced: return a weight under a throttle, as `reduced` in domain/dispatch/claim.py; p_factor
-- null: the full weight.
CREATE OR REPLACE FUNCTION ojs_reduced(p_weight float8, p_factor float8) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_factor IS NULL THEN p_weight
                WHEN greatest(1, floor(p_weight * p_factor)) < p_weight
                THEN greatest(1, floor(p_weight * p_factor))
                ELSE p_weight * p_factor END
$$
