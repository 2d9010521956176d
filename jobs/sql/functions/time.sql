-- ojs_time: return a time in the format of the wire: UTC, six digits, no fraction if it is zero.
CREATE OR REPLACE FUNCTION ojs_time(p_at timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT replace(to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
                   '.000000Z', 'Z')
$$
