-- claim: call the stored function of the claim, see functions/claim/claim_jobs.sql.
-- During maintenance it hands out nothing, but notes that the worker lives.
SELECT c.id, c.type, c.queue, c.tenant, c.lane_id, c.seq, c.priority, c.version, c.args, c.meta,
       c.attributes, c.max_attempts, c.timeout_ms, c.created_at, c.scheduled_at, c.expires_at,
       c.activated_at, c.attempt, c.enqueued_at, c.started_at, c.lease_ms, c.lease_until, c.error,
       c.errors, c.retry_delay_ms, c.watched, c.head_rank, c.head_vt, c.signals
  FROM ojs_claim_jobs(ojs_make_request(
    queues => %(queues)s::text[],
    jobs => CASE WHEN EXISTS (SELECT 1 FROM ojs_maintenance AS m WHERE ojs_in_force(m.ends_at))
                 THEN 0 ELSE %(limit)s::int END,
    worker => %(worker_id)s::text, lease_ms => %(lease_ms)s::bigint,
    default_lease_ms => %(default_lease_ms)s::bigint, tenant => %(tenant)s::text,
    version_keys => %(version_keys)s::int[], pool => %(pool)s::text, pool_cap => %(pool_cap)s::int,
    worker_pool => %(worker_pool)s::text, names_pool => %(names_pool)s::boolean,
    prefetches => %(prefetches)s::boolean, configuration => %(configuration)s::bigint,
    blocked_on => %(blocked_on)s::bigint, rotation => %(rotation)s::text,
    strategy => %(strategy)s::smallint, weights => %(weights)s::float8[],
    ratio => %(ratio)s::float8, rotation_ms => %(rotation_ms)s::bigint,
    is_global => %(is_global)s::boolean, low_ranks => %(low_ranks)s::smallint[],
    low_vts => %(low_vts)s::float8[], low_lanes => %(low_lanes)s::bigint[],
    low_seqs => %(low_seqs)s::bigint[], declared => %(declared)s::bigint,
    leaves_out_versions => %(leaves_out_versions)s::boolean, caller => %(caller)s::text,
    scopes => %(scopes)s::text[], heard_ms => %(heard_ms)s::bigint)) AS c
