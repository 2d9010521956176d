-- ojs_in_force: whether maintenance that ends then is on, null: it has no end. While it is, nothing
-- is handed out or promoted.
CREATE OR REPLACE FUNCTION ojs_in_force(p_ends_at timestamptz) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT p_ends_at IS NULL OR p_ends_at > now()
$$
