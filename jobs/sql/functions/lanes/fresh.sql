-- ojs_fresh: return whether a job that expires at a time may still be handed out; null: it never
-- expires.
CREATE OR REPLACE FUNCTION ojs_fresh(p_expires_at timestamptz, p_now timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT p_expires_at IS NULL OR p_expires_at > p_now
$$
