-- outlook: the load and workers of pools, and the next steps of rotations; see
-- functions/rotation/outlook.sql.
SELECT ojs_outlook(%(pools)s::text[], %(plans)s::jsonb, %(queue)s::text, %(slots)s::int,
                   %(silence_ms)s::bigint)::text
