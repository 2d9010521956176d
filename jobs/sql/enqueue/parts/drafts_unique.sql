-- drafts_unique: the drafts of a request with fingerprints, from one JSON array, in its order.
-- `checking` 1: they are checked here; 2: they were checked before.
(SELECT * FROM json_to_recordset(
        CASE WHEN (SELECT v.version FROM ojs_terms AS v WHERE v.id = 1) = %(config_version)s::bigint
             THEN ojs_unique_pass(%(drafts)s::json, %(checking)s::int = 2)
        END) AS r (
        n int, id uuid, type text, queue text, tenant text, lane_id bigint, priority smallint,
        version text, watched boolean, args jsonb, meta jsonb, attributes jsonb, bytes int,
        max_attempts int, timeout_ms bigint, visibility_ms bigint, pending boolean,
        scheduled_at timestamptz, scheduled_in_ms bigint, expires_at timestamptz,
        expires_in_ms bigint, request_id text, hit uuid, hit_state int)
  ORDER BY n) AS d
