-- draft: the only draft of a request, without a fingerprint.
(SELECT 0 AS n, %(id)s::uuid AS id, %(type)s::text AS type, %(queue)s::text AS queue,
        %(tenant)s::text AS tenant, %(lane_id)s::bigint AS lane_id,
        %(priority)s::smallint AS priority, %(version)s::text AS version,
        %(watched)s::boolean AS watched, %(args)s::jsonb AS args, %(meta)s::jsonb AS meta,
        %(attributes)s::jsonb AS attributes, %(bytes)s::int AS bytes,
        %(max_attempts)s::int AS max_attempts, %(timeout_ms)s::bigint AS timeout_ms,
        %(visibility_ms)s::bigint AS visibility_ms, %(pending)s::boolean AS pending,
        %(scheduled_at)s::timestamptz AS scheduled_at,
        %(scheduled_in_ms)s::bigint AS scheduled_in_ms,
        %(expires_at)s::timestamptz AS expires_at, %(expires_in_ms)s::bigint AS expires_in_ms,
        %(request_id)s::text AS request_id, NULL::uuid AS hit, NULL::int AS hit_state) AS d
