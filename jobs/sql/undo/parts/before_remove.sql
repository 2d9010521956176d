-- before_remove: all rows of the jobs that remove.sql deletes. JSON cannot tell a result that is null
-- from none, so `nulls` names it.
), before AS (
    SELECT g.id, g.state AS was, g.queue, g.priority, g.lane_id, NULL::bigint AS seq, g.attempt,
           NULL::timestamptz AS due_at, g.enqueued_at, g.expires_at, NULL::int AS left_state,
           NULL::bigint AS left_lane, NULL::jsonb AS image,
           jsonb_build_object('job', to_jsonb(g), 'nulls', g.result = 'null', 'unique', to_jsonb(u),
                              'progress', to_jsonb(p), 'replay', to_jsonb(r),
                              'expiry', to_jsonb(x)) AS gone
      FROM gone AS g
      LEFT JOIN unmarked AS u ON u.job_id = g.id
      LEFT JOIN progress AS p ON p.job_id = g.id
      LEFT JOIN replay AS r ON r.job_id = g.id
      LEFT JOIN expiry AS x ON x.id = g.id
