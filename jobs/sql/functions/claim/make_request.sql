-- ojs_make_request: make the request of a claim. Statements name the arguments, so a release may add
-- one with a default at the end: processes of the release before leave it out. PostgreSQL inlines the
-- function.
--
-- queues: in order. jobs: at most so many. worker: null: none is named. lease_ms: of these jobs, null:
-- the job's own or default_lease_ms. tenant, version_keys: narrow the lanes, null: any.
-- leaves_out_versions: version_keys leaves out keys that there are.
-- pool: whose jobs these are and whose pool_cap bounds them. worker_pool: the pool that the caller
-- takes the worker to be in; says_pool: the worker said so itself. declared: the number of what the
-- worker is taken to have declared, null: the request says so itself. prefetches: the worker holds
-- more jobs than it runs, and keeps count of them itself.
-- caller: the tenant that the caller is bound to, null: none; a worker belongs to the tenant that is
-- the first to name it. heard_ms: how old the last sign of life is when the claim notes a new one.
-- configuration: the version that all this follows from, null: none.
-- blocked_on: what the signal of the claim before said; the claim waits for that lock.
-- rotation: the key of the queue rotation, null: the queues come in their order, each until it is empty.
-- strategy, weights, ratio: see ojs_turns. rotation_ms: how long a queue may wait for a turn.
-- is_global: a turn goes to queues whose best job has the highest priority of all, unless one is owed.
-- low_ranks, low_vts: low-water marks, by position of queues: where live entries of the index begin.
-- low_lanes, low_seqs: the same by lane. A mark only saves the walk over dead entries; a caller that
-- passes marks repeats the call without them once a second. A hinted look is bounded by the lanes' own
-- `low` as well, less 128, since writers overtake each other.
-- scopes: over what tenants share beyond the queue, by position of queues; see ADR 0018.
CREATE OR REPLACE FUNCTION ojs_make_request(
    queues text[], jobs int, worker text, lease_ms bigint, default_lease_ms bigint, tenant text,
    version_keys int[], pool text, pool_cap int, worker_pool text, says_pool boolean,
    prefetches boolean, configuration bigint, blocked_on bigint, rotation text, strategy smallint,
    weights float8[], ratio float8, rotation_ms bigint, is_global boolean, low_ranks smallint[],
    low_vts float8[], low_lanes bigint[], low_seqs bigint[], declared bigint,
    leaves_out_versions boolean, caller text, scopes text[], heard_ms bigint DEFAULT NULL
) RETURNS ojs_request LANGUAGE sql IMMUTABLE AS $$
    SELECT ROW(queues, jobs, worker, lease_ms, default_lease_ms, tenant, version_keys, pool, pool_cap,
               worker_pool, says_pool, prefetches, configuration, blocked_on, rotation, strategy,
               weights, ratio, rotation_ms, is_global, low_ranks, low_vts, low_lanes, low_seqs,
               declared, leaves_out_versions, caller, scopes, heard_ms)::ojs_request
$$
