-- explain: describe a job as a claim would find it; see functions/explain/explain.sql.
SELECT ojs_explain(%(id)s::uuid, %(most)s::int, %(lanes)s::int, %(silence_ms)s::bigint,
                   %(minutes)s::int)::text
