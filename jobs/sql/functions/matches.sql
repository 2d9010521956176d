-- ojs_matches: whether a job is one of those that are looked for; null wants any. `w_type` and
-- `w_version` are LIKE patterns; of the lists of patterns one must be in the text, whatever its case.
-- Arguments of classified jobs (domain/classified.py) are not looked through: whether a search finds a
-- job tells what they are.
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
