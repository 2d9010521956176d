-- jobs: whole jobs with their live state, for any set of ids. The only statement that joins the wide row
-- with the narrow rows.
SELECT j.id, j.type, j.queue, j.tenant, j.lane_id, j.priority, j.version, j.args::text AS args,
       j.meta::text AS meta, j.attributes::text AS attributes, j.max_attempts, j.timeout_ms,
       j.created_at, j.scheduled_at, j.expires_at, j.activated_at,
       coalesce(j.state, CASE WHEN l.id IS NOT NULL THEN 4 WHEN r.id IS NOT NULL THEN 3
                              ELSE w.kind END) AS state,
       coalesce(l.attempt, r.attempt, w.attempt, j.attempt) AS attempt,
       coalesce(l.enqueued_at, r.enqueued_at, j.enqueued_at) AS enqueued_at,
       coalesce(l.started_at, j.started_at) AS started_at,
       j.finished_at, j.ran, j.dead_letter, j.result::text AS result, j.error::text AS error,
       j.errors::text AS errors, j.retry_delay_ms, w.due_at, l.worker_id, l.lease_until, l.pool,
       j.watched, j.request_id,
       (SELECT jsonb_build_object(
                   'progress', CASE WHEN j.state = 6 THEN 1 ELSE p.progress END,
                   'progress_data', p.data, 'progress_message', p.message)::text
          FROM ojs_progress AS p
         WHERE p.job_id = j.id
           AND p.attempt = coalesce(l.attempt, r.attempt, w.attempt, j.attempt)) AS progress
  FROM ojs_job AS j
  LEFT JOIN ojs_ready AS r ON r.id = j.id
  LEFT JOIN ojs_lease AS l ON l.id = j.id
  LEFT JOIN ojs_later AS w ON w.id = j.id
 WHERE j.id = ANY (%(ids)s::uuid[])
