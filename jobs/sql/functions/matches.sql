-- ojs_matches: return whether a job matches a search; a null condition matches every job. `w_type`
-- and `w_version` are LIKE patterns. Of a list of patterns, the text must match one, in any case.
--
-- A search does not read the arguments of classified jobs (domain/access/classified.py): whether it
-- finds a job would disclose them.
CREATE OR REPLACE FUNCTION ojs_matches(
    p_type text, p_version text, p_priority integer, p_args jsonb, p_meta jsonb, p_error jsonb,
    w_type text, w_version text, w_priority integer, w_args text[], w_meta text[], w_error text[],
    w_error_type text, w_fingerprint text)
RETURNS boolean LANGUAGE sql STABLE AS $$
SELECT (w_type IS NULL OR p_type LIKE w_type)
   AND (w_priority IS NULL OR p_priority = w_priority)
   AND (w_version IS NULL OR coalesce(p_version::jsonb #>> '{}' LIKE w_version, false))
   AND (w_error_type IS NULL OR coalesce(p_error ->> 'type' = w_error_type, false))
   AND (w_fingerprint IS NULL OR coalesce(ojs_fingerprint(p_type, p_error) = w_fingerprint, false))
   AND (w_args IS NULL
        OR p_args::text ILIKE ANY (w_args)
           AND coalesce(lower(btrim(p_meta ->> 'data_classification', E' \t\n\r\f\v')), '')
               NOT IN ('confidential', 'restricted'))
   AND (w_meta IS NULL OR p_meta::text ILIKE ANY (w_meta))
   AND (w_error IS NULL OR coalesce(p_error::text ILIKE ANY (w_error), false))
$$
