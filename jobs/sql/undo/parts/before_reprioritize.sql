-- before_reprioritize: the lane, the position and the priority that the job left.
), before AS (
    SELECT m.id, m.state AS was, s.queue, k.priority, m.lane_id, m.seq, m.attempt, m.due_at,
           m.enqueued_at, m.expires_at, m.state AS left_state, %(lane_id)s::bigint AS left_lane,
           NULL::jsonb AS image, NULL::jsonb AS gone
      FROM (SELECT * FROM ready UNION ALL SELECT * FROM later) AS m JOIN stored AS s ON s.id = m.id
      JOIN ojs_lane_key AS k ON k.id = m.lane_id
