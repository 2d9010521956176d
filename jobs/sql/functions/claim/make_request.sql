-- ojs_make_request: make the request of a claim. Statements pass arguments by name, so a release
-- may add an argument with a default at the end: processes of the previous release omit it.
-- PostgreSQL inlines the function.
--
-- Jobs and lanes:
--   queues               in the order of the request.
--   jobs                 the largest number of jobs.
--   lease_ms             the lease of these jobs; null: the job's own lease, or default_lease_ms.
--   tenant, version_keys restrict the lanes; null: any.
--   leaves_out_versions  other version keys exist than version_keys, so the claim may not see all
--                        jobs of a queue.
--   scopes               by position of the queues, the scope over which tenants share beyond the
--                        queue (ADR 0018).
-- Worker and pool:
--   worker               null: the caller named none.
--   caller               the tenant that the caller is bound to; null: none. A worker belongs to
--                        the tenant of its first request.
--   heard_ms             the claim stores a sign of life if the last stored sign is older than
--                        this; null: it stores none.
--   prefetches           the worker holds more jobs than it runs. Its concurrency does not bound
--                        the claim, except with the strategy least-loaded.
--   declared             the hash of the worker's declaration that the process has cached; null:
--                        the claim does not compare it. The request itself has a declaration, and
--                        a strategy or weights.
--   pool, pool_cap       the pool that the jobs count for, and the bound on its active jobs.
--   worker_pool          the pool to which the worker belongs, as far as the process knows.
--   names_pool           the request itself named worker_pool; false: the process has cached it.
-- Consistency:
--   configuration        the configuration version of these arguments; null: the claim checks none.
--   blocked_on           the signal `blocked_on` of the previous claim: this claim waits for that
--                        lock.
-- Rotation:
--   rotation             the key of the queue rotation; null: the claim goes through the queues in
--                        their order.
--   strategy, weights, ratio  see ojs_turns.
--   rotation_ms          how long a queue with jobs may wait for a turn, if `ratio` is set.
--   is_global            priorities compete over queues: a turn goes to a queue whose head has the
--                        smallest rank of all queues. A turn that starvation prevention owes to a
--                        queue is the exception.
-- Low-water marks, from which the claim starts to read, so that it skips dead index entries:
--   low_ranks, low_vts   by position of the queues: the rank and the virtual time of the head.
--   low_lanes, low_seqs  the `seq` of the first job of some lanes.
-- A mark may hide a row that was stored late, so a process omits its marks once a second. A claim
-- that finds too few jobs repeats its search without marks. The column `low` of a lane bounds a
-- hinted look as well. The claim subtracts 128 from marks of jobs, because transactions may commit
-- in another order than their `seq`.
CREATE OR REPLACE FUNCTION ojs_make_request(
    queues text[], jobs int, worker text, lease_ms bigint, default_lease_ms bigint, tenant text,
    version_keys int[], pool text, pool_cap int, worker_pool text, names_pool boolean,
    prefetches boolean, configuration bigint, blocked_on bigint, rotation text, strategy smallint,
    weights float8[], ratio float8, rotation_ms bigint, is_global boolean, low_ranks smallint[],
    low_vts float8[], low_lanes bigint[], low_seqs bigint[], declared bigint,
    leaves_out_versions boolean, caller text, scopes text[], heard_ms bigint DEFAULT NULL
) RETURNS ojs_request LANGUAGE sql IMMUTABLE AS $$
    SELECT ROW(queues, jobs, worker, lease_ms, default_lease_ms, tenant, version_keys, pool, pool_cap,
               worker_pool, names_pool, prefetches, configuration, blocked_on, rotation, strategy,
               weights, ratio, rotation_ms, is_global, low_ranks, low_vts, low_lanes, low_seqs,
               declared, leaves_out_versions, caller, scopes, heard_ms)::ojs_request
$$
