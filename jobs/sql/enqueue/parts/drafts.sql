-- drafts: several drafts without fingerprints, in the order of `n`. `kinds` has once the members that
-- drafts share: reading JSON costs as much as an insert. `k` is the kind of a draft. A draft has its own
-- `meta` and `request_id` only if they differ from those of its kind.
(SELECT r.n, r.id, k.type, k.queue, k.tenant, k.lane_id, k.priority, r.version, k.watched, r.args,
        coalesce(r.meta, k.meta) AS meta, k.attributes, r.bytes, k.max_attempts, k.timeout_ms,
        r.visibility_ms, r.pending, r.scheduled_at, r.scheduled_in_ms, r.expires_at, r.expires_in_ms,
        coalesce(r.request_id, k.request_id) AS request_id, NULL::uuid AS hit, NULL::int AS hit_state
   FROM json_to_recordset(%(drafts)s::json) AS r (
        n int, k int, id uuid, args jsonb, meta jsonb, bytes int, version text,
        visibility_ms bigint, pending boolean, scheduled_at timestamptz, scheduled_in_ms bigint,
        expires_at timestamptz, expires_in_ms bigint, request_id text)
   JOIN json_to_recordset(%(kinds)s::json) AS k (
        k int, type text, queue text, tenant text, lane_id bigint, priority smallint,
        watched boolean, meta jsonb, attributes jsonb, max_attempts int, timeout_ms bigint,
        request_id text)
     ON k.k = r.k
  ORDER BY r.n) AS d
