-- explain: what a claim would find about a job; see functions/explain/explain.sql.
SELECT ojs_explain(%(id)s::uuid, %(most)s::int, %(lanes)s::int, %(silence_ms)s::bigint,
                   %(minutes)s::int)::text
