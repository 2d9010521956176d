-- before_revive: the jobs as they had ended. Members that the retry left are not copied.
), before AS (
    SELECT h.id, h.state AS was, h.queue, (h.job).priority, (h.job).lane_id, NULL::bigint AS seq,
           (h.job).attempt, NULL::timestamptz AS due_at, (h.job).enqueued_at, (h.job).expires_at,
           3 AS left_state, s.lane_id AS left_lane,
           jsonb_build_object(
               'job', CASE WHEN c.args IS NULL AND c.meta IS NULL AND c.attributes IS NULL
                           THEN to_jsonb(h.job) - '{args,meta,attributes}'::text[]
                           ELSE to_jsonb(h.job) END,
               'nulls', (h.job).result = 'null', 'progress', to_jsonb(p)) AS image,
           NULL::jsonb AS gone
      FROM stored AS s JOIN held AS h ON h.id = s.id JOIN chosen AS c ON c.id = s.id
      LEFT JOIN forgotten AS p ON p.job_id = s.id
