-- types: the composite types that the steps of a claim pass on. Installed before all functions. A
-- changed file replaces all of them, together with the functions that name them: no table may use one.

-- What a FETCH asks for. ojs_make_request makes it, and says what each member means.
CREATE TYPE ojs_request AS (
    queues text[], jobs int, worker text, lease_ms bigint, default_lease_ms bigint, tenant text,
    version_keys int[], pool text, pool_cap int, worker_pool text, says_pool boolean,
    prefetches boolean, configuration bigint, blocked_on bigint, rotation text, strategy smallint,
    weights float8[], ratio float8, rotation_ms bigint, is_global boolean, low_ranks smallint[],
    low_vts float8[], low_lanes bigint[], low_seqs bigint[], declared bigint,
    leaves_out_versions boolean, caller text, scopes text[], heard_ms bigint);

-- A lane that gives jobs. The last four members are set by ojs_pick_single_lanes alone, which has locked
-- the job already: one pick for each job.
CREATE TYPE ojs_pick AS (
    lane bigint, tenant text, is_limited boolean, vt float8, weight float8,
    low bigint,  -- no job of the lane lies below, but for late ones; null: jobs came back
    place tid,  -- where its row is, once locked: the index may hold many dead entries
    rank smallint, job tid, position int);

-- What a claim has found out so far. Steps take it and return it changed.
CREATE TYPE ojs_claim_state AS (
    -- of the whole claim
    now timestamptz, need int,
    is_holding boolean,  -- a lane or a limit may be locked, also one that was passed by
    blocked_on bigint,  -- the lock that may have hidden jobs: of a limit or, if negative, of a lane
    opens_at timestamptz,  -- when the earliest of the limits opens by itself that were reached
    over_limit jsonb,  -- lanes over a limit whose policy is not to wait, with their numbers of jobs
    exhausted bigint[],  -- lanes whose jobs were all expired or locked by others
    reached bigint[], reached_until timestamptz,  -- limits, and when the last of them opens by itself
    homes text[],  -- the queues as their lanes name them; null: as the request does
    signals jsonb,  -- set: the claim ends, and this is its answer
    -- of the queue at `position`
    position int, queue text, home text, scope text, quota int, queue_limits bigint[],
    own_lanes bigint[],  -- of the request's tenant
    is_hinted boolean,  -- low-water marks bound the look
    closed bigint[],  -- limits that are reached, and those that another claim has locked
    busy_rank smallint,  -- the rank of lanes of limits that another claim has locked
    -- of one look at the queue
    is_done boolean, is_again boolean,  -- nothing is there to give; something changed: look again
    is_moved boolean,  -- the best job has another rank than the rotation went by
    rank smallint, vt float8, near bigint[],  -- the head's, and the lanes around it
    is_alone boolean,  -- no other lane of the rank is known to have jobs
    is_ordered boolean, empty bigint[], behind bigint[],  -- see ojs_in_order
    is_locked boolean,  -- the picked lanes, but for those of `held`
    held bigint[], held_vt float8,  -- lanes that others hold; how far the last of them is served
    owes boolean,  -- jobs are taken of lanes that others hold: what they cost is stored as a debt
    indebted int[],  -- positions of picks that were charged a debt
    has_limited boolean, has_returned boolean,  -- picks that are limited; whose jobs came back
    picks ojs_pick[], lanes bigint[],  -- and their lanes
    takes int[],  -- how many jobs each of the picks is to give
    gives int[],  -- how many each has, where that had to be known before
    wanted int);

-- Whose turn it is among the queues of a request; arrays are by position, see ojs_rotation_begin.
CREATE TYPE ojs_rotation AS (
    is_on boolean,  -- some queue has a turn
    is_kept boolean, turn ojs_turn,  -- the next claim goes by these turns; where they stood before
    slots int, is_open boolean[], keys float8[], since bigint[], overdue boolean[],
    stock int[],  -- how many jobs a queue turned out to have; null: enough so far
    taken int[], wants int[], turns int[],
    first int,  -- the number of the queue that a round begins with
    is_visited boolean,  -- a queue was looked at in this round
    is_agreed boolean,  -- each queue gave what its turns ask for
    -- Where priorities compete over queues, the index of the latest level of each. Levels: of this queue
    -- so many jobs lie before the end of jobs of this rank; null: no end is known.
    levels int[], level_queues int[], level_ends int[], level_ranks smallint[]);

-- A row of a claim's answer: a job, or `signals` with a null id.
CREATE TYPE ojs_claimed AS (
    id uuid, type text, queue text, tenant text, lane_id bigint, seq bigint, priority smallint,
    version text, args text, meta text, attributes text, max_attempts int, timeout_ms bigint,
    created_at timestamptz, scheduled_at timestamptz, expires_at timestamptz,
    activated_at timestamptz, attempt int, enqueued_at timestamptz, started_at timestamptz,
    lease_ms bigint, lease_until timestamptz, error text, errors text, retry_delay_ms bigint,
    watched boolean, head_rank smallint, head_vt float8, signals jsonb);
