-- claim: the one call of the stored function; what it does stands in functions/claim.sql.
SELECT * FROM ojs_claim(
    %(queues)s::text[], %(quotas)s::int[], %(limit)s::int,
    %(worker_id)s::text, %(lease_ms)s::bigint, %(default_lease_ms)s::bigint,
    %(tenant)s::text, %(routes)s::int[], %(pool)s::text, %(pool_cap)s::int,
    %(low_ranks)s::smallint[], %(low_vts)s::float8[], %(low_lanes)s::bigint[],
    %(low_seqs)s::bigint[])
