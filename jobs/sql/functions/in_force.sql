-- ojs_in_force: return whether maintenance that ends at a time is on; null: it has no end. During
-- maintenance the server hands out and promotes no job.
CREATE OR REPLACE FUNCTION ojs_in_force(p_ends_at timestamptz) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT p_ends_at IS NULL OR p_ends_at > now()
$$
