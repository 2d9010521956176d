-- undo_next: the next records of an operation that no undo has handled, with the present state of
-- each job: state, end, attempt and lane; `state` null: the job is gone. `key` is the fingerprint of a
-- unique job.
SELECT u.job_id, u.was, u.queue, u.priority, u.lane_id, u.left_state, u.left_at, u.left_lane,
       u.expires_at, u.gone IS NOT NULL AS is_gone,
       coalesce(j.state, CASE WHEN a.id IS NOT NULL THEN 3 WHEN l.id IS NOT NULL THEN 4
                              ELSE w.kind END)::int AS state,
       j.finished_at, coalesce(j.ran, false) AS ran, j.tenant, j.type, coalesce(j.watched, false),
       coalesce(a.attempt, w.attempt, j.attempt), coalesce(a.lane_id, w.lane_id), a.enqueued_at,
       encode(n.fingerprint, 'hex')
  FROM (SELECT * FROM ojs_undo_job AS x
         WHERE x.undo_id = %(undo)s::bigint AND x.outcome IS NULL
         ORDER BY x.undo_id, x.job_id LIMIT %(size)s::int) AS u
  LEFT JOIN LATERAL (  -- OFFSET 0 keeps the planner from joins over the whole tables
       SELECT * FROM ojs_job AS j WHERE j.id = u.job_id OFFSET 0) AS j ON true
  LEFT JOIN LATERAL (SELECT * FROM ojs_ready AS a WHERE a.id = u.job_id OFFSET 0) AS a ON true
  LEFT JOIN LATERAL (SELECT l.id FROM ojs_lease AS l WHERE l.id = u.job_id OFFSET 0) AS l ON true
  LEFT JOIN LATERAL (SELECT * FROM ojs_later AS w WHERE w.id = u.job_id OFFSET 0) AS w ON true
  LEFT JOIN LATERAL (
       SELECT n.fingerprint FROM ojs_unique AS n WHERE n.job_id = u.job_id OFFSET 0) AS n ON true
 ORDER BY u.job_id
