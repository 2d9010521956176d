-- claim: the one call of the stored function; what it does stands in functions/claim/claim.sql.
-- During maintenance it hands out nothing, but notes that the worker lives.
SELECT * FROM ojs_claim(
    %(queues)s::text[],
    CASE WHEN EXISTS (SELECT 1 FROM ojs_maintenance AS m WHERE ojs_in_force(m.ends_at))
         THEN 0 ELSE %(limit)s::int END,
    %(worker_id)s::text, %(lease_ms)s::bigint, %(default_lease_ms)s::bigint,
    %(tenant)s::text, %(routes)s::int[], %(pool)s::text, %(pool_cap)s::int, %(bound)s::text,
    %(binds)s::boolean, %(prefetches)s::boolean, %(terms)s::bigint, %(awaits)s::bigint,
    %(turns)s::text, %(strategy)s::smallint, %(weights)s::float8[], %(ratio)s::float8,
    %(rotation_ms)s::bigint, %(is_global)s::boolean,
    %(low_ranks)s::smallint[], %(low_vts)s::float8[], %(low_lanes)s::bigint[],
    %(low_seqs)s::bigint[], %(declared)s::bigint, %(refuses)s::boolean, %(caller)s::text,
    %(scopes)s::text[], %(heard_ms)s::bigint)
