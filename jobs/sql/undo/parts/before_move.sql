-- before_move: the queue, lane and position that the moved jobs left.
), before AS (
    SELECT m.id, m.state AS was, %(left)s::text AS queue, s.priority, g.lane AS lane_id, m.seq,
           m.attempt, m.due_at, NULL::timestamptz AS enqueued_at, m.expires_at,
           m.state AS left_state, m.target AS left_lane, NULL::jsonb AS image, NULL::jsonb AS gone
      FROM moved AS m JOIN stored AS s ON s.id = m.id JOIN given AS g ON g.id = m.id
