-- outlook: how full pools are, who is in them, and the turns that come next; see
-- functions/rotation/outlook.sql.
SELECT ojs_outlook(%(pools)s::text[], %(plans)s::jsonb, %(queue)s::text, %(slots)s::int,
                   %(silence_ms)s::bigint)::text
