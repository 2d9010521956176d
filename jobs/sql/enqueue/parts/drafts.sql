-- drafts: several drafts without fingerprints, from one JSON array; readers get them in its order.
(SELECT r.*, NULL::uuid AS hit, NULL::int AS hit_state
   FROM json_to_recordset(%(drafts)s::json) AS r (
        n int, id uuid, type text, queue text, tenant text, lane_id bigint, priority smallint,
        version text, watched boolean, args jsonb, meta jsonb, attributes jsonb, bytes int,
        max_attempts int, timeout_ms bigint, visibility_ms bigint, pending boolean,
        scheduled_at timestamptz, scheduled_in_ms bigint, expires_at timestamptz,
        expires_in_ms bigint, request_id text)
  ORDER BY n) AS d
