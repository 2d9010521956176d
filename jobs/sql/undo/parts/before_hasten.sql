-- before_hasten: the retryable jobs with the times at which they were due.
), before AS (
    SELECT e.id, 5 AS was, j.queue, j.priority, e.lane_id, NULL::bigint AS seq, e.attempt, e.due_at,
           NULL::timestamptz AS enqueued_at, e.expires_at, 3 AS left_state, e.lane_id AS left_lane,
           NULL::jsonb AS image, NULL::jsonb AS gone
      FROM ended AS e JOIN ojs_job AS j ON j.id = e.id
