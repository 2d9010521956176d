-- ojs_limit_policy: return the policy of a limit that is in force at a time: its override until the
-- override ends, otherwise its own policy; null: it has no policy. An override replaces all members
-- of the policy, also `on_limit`. PostgreSQL inlines the function.
-- Spec: contract 27.1.
CREATE OR REPLACE FUNCTION ojs_limit_policy(p_limit ojs_limit, p_now timestamptz) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_limit.override IS NOT NULL
                     AND (p_limit.override_until IS NULL OR p_limit.override_until > p_now)
                THEN p_limit.override ELSE p_limit.policy END
$$
