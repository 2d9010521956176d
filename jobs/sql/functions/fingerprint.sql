-- ojs_fingerprint: what failures of a type have in common: the error's type, and its message without
-- what differs from one job to the next (ids, numbers, what stands in quotes).
CREATE OR REPLACE FUNCTION ojs_fingerprint(p_type text, p_error jsonb)
RETURNS text LANGUAGE sql STABLE AS $$
SELECT left(md5(concat_ws(E'\n', p_type, coalesce(p_error ->> 'type', p_error ->> 'code'),
           regexp_replace(left(p_error ->> 'message', 300),
               '0x[0-9a-f]+|(?<!\w)''[^'']*''|"[^"]*"|\m[0-9a-f]*\d[0-9a-f-]*|\d+', '?', 'gi'))), 16)
$$
