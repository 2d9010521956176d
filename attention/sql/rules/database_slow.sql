-- database_slow: report a slow database: the statements of this look took `took_ms` until here.
SELECT 'database', NULL::text, NULL::timestamptz, 0::bigint, 0,
       jsonb_build_object('took_ms', %(took_ms)s::int)::text
 WHERE %(took_ms)s::int > %(slow_ms)s::int
