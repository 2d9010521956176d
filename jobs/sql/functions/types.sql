-- types: the composite types that the steps of a claim pass on. They are installed before all
-- functions. A change of this file replaces all types and the functions that name them, so no table
-- may use one.

-- The request of a claim. ojs_make_request makes it and describes each member.
CREATE TYPE ojs_request AS (
    queues text[], jobs int, worker text, lease_ms bigint, default_lease_ms bigint, tenant text,
    version_keys int[], pool text, pool_cap int, worker_pool text, names_pool boolean,
    prefetches boolean, configuration bigint, blocked_on bigint, rotation text, strategy smallint,
    weights float8[], ratio float8, rotation_ms bigint, is_global boolean, low_ranks smallint[],
    low_vts float8[], low_lanes bigint[], low_seqs bigint[], declared bigint,
    leaves_out_versions boolean, caller text, scopes text[], heard_ms bigint);

-- A lane from which a look takes jobs. Only ojs_pick_single_lanes sets `rank`, `job_ctid` and
-- `position`: each of its picks is a single job, which the claim has already locked.
CREATE TYPE ojs_pick AS (
    lane bigint, tenant text, is_limited boolean, vt float8, weight float8,
    -- The low-water mark: the `seq` of the lane's jobs is at least `low` - 128. Null: the lane has
    -- returned jobs, so no mark holds.
    low bigint,
    -- The lane's row; null: the claim has not locked it. A search by id could read many dead index
    -- entries.
    lane_ctid tid,
    rank smallint, job_ctid tid,
    position int);  -- The position of the queue in the request.

-- One of the first two eligible lanes of a queue, in the order of ojs_pick_lanes.
CREATE TYPE ojs_first_lane AS (
    lane bigint, tenant text, rank smallint, vt float8, low bigint, is_ordered boolean,
    is_plain boolean);  -- The lane has no limits, no sharing policy and no returned jobs.

-- The state of a claim. Steps take it and return it changed. A look at a queue picks lanes and
-- hands out their jobs. The claim looks at a queue until `quota` is 0 or `is_done` is true.
CREATE TYPE ojs_claim_state AS (
    -- State of the whole claim.
    now timestamptz,  -- The time; read anew after each wait for a lock.
    need int,  -- How many more jobs the claim may give.
    -- The claim may hold a lock for which another claim waits, so it only tries further locks. It
    -- may even hold a lane that it skipped.
    must_not_wait boolean,
    -- The lock of another transaction that may have hidden jobs from this claim: the id of a limit,
    -- or the negated id of a lane.
    blocked_on bigint,
    -- When the first reached limit of a queue opens by itself. Limits of lanes do not count.
    opens_at timestamptz,
    -- Lanes of a reached limit whose `on_limit` is not `wait`, with the number of jobs. The caller
    -- drops or reschedules these jobs.
    over_limit jsonb,
    -- Lanes that the rest of the claim skips: they have no job, all their jobs are expired or
    -- locked, or another claim holds the lane.
    exhausted bigint[],
    -- Reached limits of lanes, if their `on_limit` is `wait`. `reached_until`: when the last limit
    -- of the array opens by itself.
    reached bigint[], reached_until timestamptz,
    -- By position: the names under which the queues' lanes are stored; null: as in the request.
    stored_queues text[],
    signals jsonb,  -- If set, the claim ends with this answer.
    -- State of the queue at `position` of the request. At position 0, ojs_pick_single_lanes serves
    -- many queues at once.
    position int, queue text, stored_queue text, scope text,
    quota int,  -- How many more jobs the queue may give.
    queue_limits bigint[],  -- The limit of the queue itself, as an array; null: it has none.
    tenant_lanes bigint[],  -- The lanes of the request's tenant and version keys.
    is_hinted boolean,  -- Low-water marks bound the look.
    -- The lanes that ojs_claim_queue has found for the first look. Null: ojs_pick_lanes searches.
    first_lanes ojs_first_lane[],
    is_plain_queue boolean,  -- See ojs_claim_queue.
    closed bigint[],  -- `reached`, and limits that another claim has locked.
    -- The rank of the lanes of a limit that another claim has locked. The queue gives no jobs of a
    -- larger rank: jobs of these lanes have a higher priority and may have room.
    busy_rank smallint,
    -- State of one look at the queue.
    is_done boolean,  -- The queue has nothing to give now.
    must_look_again boolean,  -- This look picks no lanes, but the next look may.
    has_other_rank boolean,  -- The head has another rank than the rotation assumed.
    rank smallint, vt float8,  -- Of the head: the first eligible lane of the queue.
    -- Lanes to pick from. ojs_pick_lanes sets the first one or two eligible lanes or, for a tenant,
    -- all of its lanes with the head's rank. ojs_pick_ordered sets the lanes of the oldest jobs. If
    -- other claims hold all lanes, ojs_pick_fair sets `unlocked_lanes`.
    candidates bigint[],
    -- The head is the only eligible lane of the queue or, for a tenant, its only lane of that rank.
    is_single_lane boolean,
    is_ordered boolean,  -- ojs_pick_ordered picks: the oldest jobs come first.
    empty_lanes bigint[], lagging_lanes bigint[],  -- `empty` and `behind` of ojs_in_order.
    -- The claim charges the picked lanes that it has locked. False in an ordered look, and if the
    -- claim has locked no lane.
    charges_lanes boolean,
    -- Lanes that also give jobs, but that the claim has not locked: see ojs_pick_fair.
    -- `unlocked_vt`: the largest of their virtual times.
    unlocked_lanes bigint[], unlocked_vt float8,
    records_debts boolean,  -- The claim records a debt for each pick that it has not locked.
    debt_picks int[],  -- Indexes in `picks` of the lanes to whose `vt` the claim has added a debt.
    has_limited boolean, has_returned boolean,  -- Whether some pick has limits, or returned jobs.
    picks ojs_pick[], lanes bigint[],  -- The lanes of the picks.
    -- The largest number of jobs that each pick may give, and their sum.
    planned int[], planned_total int,
    -- The number of jobs of each pick that the claim has locked already; null: ojs_hand_out locks
    -- them.
    locked_jobs int[]);

-- The turns of the queues of a request. Arrays are by position of the queues, except `turn_order`
-- and the arrays `level_*`.
CREATE TYPE ojs_rotation AS (
    is_on boolean,  -- Some queue seems to have jobs, so the turns decide.
    is_kept boolean,  -- The claim stores the turns, and the next claim continues from them.
    stored ojs_turn,  -- The stored turns before this claim.
    turn_count int,  -- Number of turns, one for each job that the claim needs.
    is_open boolean[],  -- The queue seems to have jobs: see ojs_open.
    keys float8[], since bigint[], overdue boolean[],  -- The input of ojs_turns.
    stock int[],  -- Number of jobs that the queue can give in all; null: no bound is known yet.
    taken int[],  -- Number of jobs that the queue gave so far.
    wants int[],  -- Number of jobs that the queue's turns ask for.
    turn_order int[],  -- The position of the queue of each turn.
    -- Where a round through the queues begins: at position 1, or at 0 if ojs_pick_single_lanes runs
    -- before the queues.
    first_position int,
    has_looked boolean,  -- The claim looked at a queue in this round.
    is_final boolean,  -- Each queue gave the jobs that its turns ask for.
    -- Levels, if priorities compete over queues (`is_global`); otherwise null. A level is a run of
    -- jobs of one queue with equal rank. By level: its queue, its rank, and the number of jobs that
    -- the queue has given at its end (null: the end is unknown). `levels` has the latest level of
    -- each queue.
    levels int[], level_queues int[], level_ends int[], level_ranks smallint[]);

-- A row of a claim's answer: a job, or `signals` with a null id. `head_rank` and `head_vt` are the
-- rank and the virtual time of the queue's head in the look that picked the job. The process keeps
-- them as low-water marks.
CREATE TYPE ojs_claimed AS (
    id uuid, type text, queue text, tenant text, lane_id bigint, seq bigint, priority smallint,
    version text, args text, meta text, attributes text, max_attempts int, timeout_ms bigint,
    created_at timestamptz, scheduled_at timestamptz, expires_at timestamptz,
    activated_at timestamptz, attempt int, enqueued_at timestamptz, started_at timestamptz,
    lease_ms bigint, lease_until timestamptz, error text, errors text, retry_delay_ms bigint,
    watched boolean, head_rank smallint, head_vt float8, signals jsonb);
