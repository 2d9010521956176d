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
         ORDER BY x.job_id LIMIT %(size)s::int) AS u
  LEFT JOIN ojs_job AS j ON j.id = u.job_id
  LEFT JOIN ojs_ready AS a ON a.id = u.job_id
  LEFT JOIN ojs_lease AS l ON l.id = u.job_id
  LEFT JOIN ojs_later AS w ON w.id = u.job_id
  LEFT JOIN ojs_unique AS n ON n.job_id = u.job_id
 ORDER BY u.job_id
