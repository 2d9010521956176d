-- ojs_fingerprint: return a hash that equal failures of a type share: of the error's type, and of
-- its message without the parts that differ between jobs (ids, numbers, quoted text).
CREATE OR REPLACE FUNCTION ojs_fingerprint(p_type text, p_error jsonb)
RETURNS text LANGUAGE sql STABLE AS $$
SELECT left(md5(concat_ws(E'\n', p_type, coalesce(p_error ->> 'type', p_error ->> 'code'),
           regexp_replace(left(p_error ->> 'message', 300),
               '0x[0-9a-f]+|(?<!\w)''[^'']*''|"[^"]*"|\m[0-9a-f]*\d[0-9a-f-]*|\d+', '?', 'gi'))), 16)
$$
