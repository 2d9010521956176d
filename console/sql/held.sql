-- held: the running jobs of a worker, oldest first, at most `size`.
SELECT l.id, j.type, j.queue, l.tenant, l.attempt, l.started_at, l.due_at
  FROM ojs_lease AS l JOIN ojs_job AS j ON j.id = l.id
 WHERE l.worker_id = %(worker)s::text
 ORDER BY l.started_at, l.id LIMIT %(size)s::int
