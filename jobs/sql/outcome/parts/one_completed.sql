-- one_completed: a part of complete.sql. A row if the job ended, or if it is watched and stays. The
-- lease of a watched job is not locked: the transaction that ends it locks it and checks it again.
SELECT s.id, s.queue, s.type, s.tenant, s.attempt, s.finished_at,
       -- as the job was before this statement: it has a checkpoint, or a step of another job waits
       CASE WHEN s.watched THEN
           (SELECT j.attributes ? 'last_checkpoint' OR j.meta ? 'ojs.parent'
              FROM ojs_job AS j WHERE j.id = s.id) END AS marked,
       ojs_release(ARRAY[s.id], s.limits) AS freed,
       CASE WHEN s.started_at < now() - %(heard_ms)s::bigint * interval '1 millisecond'
            THEN ojs_heard(ARRAY[s.worker_id], %(heard_ms)s::bigint) END AS heard
  FROM stored AS s
 UNION ALL
SELECT l.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM ojs_lease AS l
 WHERE l.id = %(id)s::uuid AND l.watched AND NOT %(watched)s::boolean
   AND (%(worker_id)s::text IS NULL OR l.worker_id IS NULL OR l.worker_id = %(worker_id)s::text)
   AND (%(attempt)s::int IS NULL OR l.attempt = %(attempt)s::int)
