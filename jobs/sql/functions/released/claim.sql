-- ojs_claim: the claim as processes of the releases 0.1.0 and 0.2.0 call it: see ojs_claim_jobs.
-- Remove it once this release serves neither.
CREATE OR REPLACE FUNCTION ojs_claim(
    p_queues text[], p_limit int,
    p_worker text, p_lease_ms bigint, p_default_lease_ms bigint,
    p_tenant text, p_routes int[], p_pool text, p_pool_cap int, p_bound text, p_binds boolean,
    p_prefetches boolean, p_terms bigint, p_awaits bigint, p_turns text, p_strategy smallint,
    p_weights float8[], p_ratio float8, p_rotation_ms bigint, p_is_global boolean,
    p_low_ranks smallint[], p_low_vts float8[], p_low_lanes bigint[], p_low_seqs bigint[],
    p_declared bigint, p_refuses boolean, p_caller text, p_scopes text[],
    p_heard_ms bigint DEFAULT NULL
) RETURNS TABLE (
    id uuid, type text, queue text, tenant text, lane_id bigint, seq bigint, priority smallint,
    version text, args text, meta text, attributes text, max_attempts int, timeout_ms bigint,
    created_at timestamptz, scheduled_at timestamptz, expires_at timestamptz,
    activated_at timestamptz, attempt int, enqueued_at timestamptz, started_at timestamptz,
    lease_ms bigint, lease_until timestamptz, error text, errors text, retry_delay_ms bigint,
    watched boolean, head_rank smallint, head_vt float8, directive smallint, due boolean,
    opens_ms bigint, crowded jsonb, stale boolean, bound text, turns int[], awaits bigint,
    declared bigint, taken boolean
) LANGUAGE sql AS $$
    SELECT c.id, c.type, c.queue, c.tenant, c.lane_id, c.seq, c.priority, c.version, c.args, c.meta,
           c.attributes, c.max_attempts, c.timeout_ms, c.created_at, c.scheduled_at, c.expires_at,
           c.activated_at, c.attempt, c.enqueued_at, c.started_at, c.lease_ms, c.lease_until, c.error,
           c.errors, c.retry_delay_ms, c.watched, c.head_rank, c.head_vt,
           (c.signals ->> 'directive')::smallint, (c.signals ->> 'due')::boolean,
           (c.signals ->> 'opens_ms')::bigint, c.signals -> 'over_limit',
           (c.signals ->> 'stale')::boolean, c.signals ->> 'pool',
           (SELECT array_agg(t.turn::int ORDER BY t.n)
              FROM jsonb_array_elements_text(c.signals -> 'turns') WITH ORDINALITY AS t (turn, n)),
           (c.signals ->> 'blocked_on')::bigint, (c.signals ->> 'declared')::bigint,
           (c.signals ->> 'foreign')::boolean
      FROM ojs_claim_jobs(ojs_make_request(
               p_queues, p_limit, p_worker, p_lease_ms, p_default_lease_ms, p_tenant, p_routes,
               p_pool, p_pool_cap, p_bound, p_binds, p_prefetches, p_terms, p_awaits, p_turns,
               p_strategy, p_weights, p_ratio, p_rotation_ms, p_is_global, p_low_ranks, p_low_vts,
               p_low_lanes, p_low_seqs, p_declared, p_refuses, p_caller, p_scopes, p_heard_ms)) AS c
$$
