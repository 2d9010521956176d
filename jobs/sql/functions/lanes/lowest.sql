-- ojs_lowest: return the `seq` that bounds a lane's jobs from below. Null: jobs were returned, so
-- no bound holds. PostgreSQL inlines the function. See models.Lane.
CREATE OR REPLACE FUNCTION ojs_lowest(p_low bigint, p_returned bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_returned IS NULL THEN p_low END
$$
