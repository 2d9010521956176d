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

-- A lane that gives jobs. Only ojs_pick_single_lanes sets `rank`, `job` and `position`: it has
-- already locked the job, and makes one pick for each job.
CREATE TYPE ojs_pick AS (
    lane bigint, tenant text, is_limited boolean, vt float8, weight float8,
    -- The low-water mark: the `seq` of the lane's jobs is at least `low` - 128. Null: a job has
    -- returned, so no mark holds.
    low bigint,
    -- The `ctid` of the lane's row; null: the claim has not locked it. A search by id could read
    -- many dead index entries.
    place tid,
    rank smallint, job tid, position int);

-- One of the first two eligible lanes of a queue, in the order of ojs_pick_lanes.
CREATE TYPE ojs_head AS (
    lane bigint, tenant text, rank smallint, vt float8, low bigint, is_ordered boolean,
    is_plain boolean);  -- The lane has no limits and no sharing policy, and no job came back to it.

-- The state of a claim. Steps take it and return it changed. A look at a queue picks lanes and
-- hands out their jobs; a claim looks at a queue until `quota` is 0 or `is_done`.
CREATE TYPE ojs_claim_state AS (
    -- State of the whole claim.
    -- `now` is read anew after each wait for a lock. `need`: how many more jobs the claim may give.
    now timestamptz, need int,
    is_holding boolean,  -- The claim may hold a lane or a limit, also of a lane that it skipped.
    blocked_on bigint,  -- The lock that may have hidden jobs: of a limit or, if negative, of a lane.
    opens_at timestamptz,  -- When the first of the queues' reached limits opens by itself.
    -- Lanes of a reached limit whose `on_limit` is not `wait`, with the number of jobs. The caller
    -- applies that policy to them.
    over_limit jsonb,
    -- Lanes that the rest of the claim skips: they have no job, all their jobs are expired or
    -- locked, or another claim holds the lane.
    exhausted bigint[],
    -- Reached limits whose `on_limit` is `wait`; when the limit found last opens by itself.
    reached bigint[], reached_until timestamptz,
    -- By position: the names under which the queues' lanes are stored; null: as in the request.
    stored_queues text[],
    signals jsonb,  -- If set, the claim ends with this answer.
    -- State of the queue at `position`; 0: of all queues at once (see ojs_pick_single_lanes).
    position int, queue text, stored_queue text, scope text,
    quota int,  -- How many more jobs the queue may give.
    queue_limits bigint[],  -- The limit of the queue itself.
    own_lanes bigint[],  -- The lanes of the request's tenant and version keys.
    is_hinted boolean,  -- Low-water marks bound the look.
    heads ojs_head[],  -- Found by ojs_claim_queue for the first look; null: the look finds the head.
    is_plain boolean,  -- See ojs_claim_queue.
    closed bigint[],  -- `reached`, and limits that another claim has locked.
    -- The rank of the lanes whose limit another claim has locked. The queue gives no jobs of a
    -- larger rank, because jobs of that limit may come first.
    busy_rank smallint,
    -- State of one look at the queue.
    -- `is_done`: the queue has nothing to give; `is_again`: something changed, look again.
    is_done boolean, is_again boolean,
    is_moved boolean,  -- The best job has another rank than the rotation assumed.
    rank smallint, vt float8,  -- Of the head of the queue, its first eligible lane.
    -- The first one or two eligible lanes; for a tenant, all of its lanes with the head's rank.
    -- ojs_pick_ordered and ojs_pick_fair replace them by the lanes that they found.
    candidates bigint[],
    -- The queue has no other eligible lane; for a tenant, no other of its lanes has the head's
    -- rank.
    is_alone boolean,
    is_ordered boolean, empty bigint[], behind bigint[],  -- See ojs_in_order.
    -- The claim has locked the picked lanes, except `unlocked_lanes`, and charges them. False in an
    -- ordered look: it charges no lane, even if it has locked lanes with limits.
    is_locked boolean,
    -- See ojs_pick_fair; `unlocked_vt`: the virtual time of the last of them.
    unlocked_lanes bigint[], unlocked_vt float8,
    owes boolean,  -- The claim records a debt for jobs of lanes that it has not locked.
    indebted int[],  -- Positions of picks that were charged a debt.
    has_limited boolean, has_returned boolean,  -- Whether some pick has limits, or returned jobs.
    picks ojs_pick[], lanes bigint[],  -- The lanes of the picks.
    -- The largest number of jobs that each pick may give, and their sum.
    planned int[], planned_total int,
    -- The number of locked jobs of each pick; null: ojs_hand_out locks the jobs.
    counted int[]);

-- The turns of the queues of a request. Arrays are by position of the queues.
CREATE TYPE ojs_rotation AS (
    is_on boolean,  -- Some queue has a turn.
    is_kept boolean,  -- The claim stores the turns, and the next claim continues from them.
    stored ojs_turn,  -- The stored turns before this claim.
    slots int,  -- Number of turns, one for each job that the claim needs.
    is_open boolean[],  -- The queue seems to have jobs: see ojs_open.
    keys float8[], since bigint[], overdue boolean[],  -- The input of ojs_turns.
    stock int[],  -- All jobs that the queue can give, once a shortage has shown it; null: any number.
    taken int[],  -- Number of jobs that the queue gave so far.
    wants int[],  -- Number of jobs that the queue's turns ask for.
    turn_order int[],  -- The position of the queue of each turn.
    -- The first position of a round through the queues: 1, or 0 for a statement for all queues with
    -- a single lane before it.
    first int,
    is_visited boolean,  -- The claim looked at a queue in this round.
    is_agreed boolean,  -- Each queue gave the jobs that its turns ask for.
    -- If priorities compete over queues. A level is a part of a queue's jobs that have equal rank.
    -- Level n is of the queue level_queues[n]. Its last job is the level_ends[n]-th that the queue
    -- gives; null: not found yet. `levels`: the latest level of each queue.
    levels int[], level_queues int[], level_ends int[], level_ranks smallint[]);

-- A row of a claim's answer: a job, or `signals` with a null id.
CREATE TYPE ojs_claimed AS (
    id uuid, type text, queue text, tenant text, lane_id bigint, seq bigint, priority smallint,
    version text, args text, meta text, attributes text, max_attempts int, timeout_ms bigint,
    created_at timestamptz, scheduled_at timestamptz, expires_at timestamptz,
    activated_at timestamptz, attempt int, enqueued_at timestamptz, started_at timestamptz,
    lease_ms bigint, lease_until timestamptz, error text, errors text, retry_delay_ms bigint,
    watched boolean, head_rank smallint, head_vt float8, signals jsonb);
