-- before_cancel: the jobs as they were before cancel.sql ended them.
), before AS (
    SELECT e.id, e.state AS was, s.queue, s.priority, e.lane_id, e.seq, e.attempt, e.due_at,
           e.enqueued_at, e.expires_at, 7 AS left_state, NULL::bigint AS left_lane,
           jsonb_build_object('attempt', j.attempt, 'enqueued_at', j.enqueued_at,
                              'started_at', j.started_at, 'ran', j.ran) AS image,
           NULL::jsonb AS gone
      FROM ended AS e JOIN stored AS s ON s.id = e.id JOIN ojs_job AS j ON j.id = e.id
