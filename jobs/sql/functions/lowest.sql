-- ojs_lowest: the `seq` that bounds a lane's jobs from below; null: jobs came back, and none bounds them.
-- Put in place where it is used. See models.Lane.
CREATE OR REPLACE FUNCTION ojs_lowest(p_low bigint, p_returned bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_returned IS NULL THEN p_low END
$$
