-- each_completed: a part of complete.sql. A row for each job that ended, and for each watched job.
SELECT s.id, s.queue, s.type, s.tenant, s.attempt, s.finished_at,
       -- as the job was before this statement: it has a checkpoint, or a step of another job waits
       CASE WHEN s.watched THEN
           (SELECT j.attributes ? 'last_checkpoint' OR j.meta ? 'ojs.parent'
              FROM ojs_job AS j WHERE j.id = s.id) END AS marked,
       (SELECT ojs_release(array_agg(DISTINCT e.id), array_agg(DISTINCT m))
          FROM ended AS e CROSS JOIN LATERAL unnest(e.limits) AS m) AS freed,
       (SELECT ojs_heard(array_agg(e.worker_id), %(heard_ms)s::bigint) FROM ended AS e
         WHERE e.started_at < now() - %(heard_ms)s::bigint * interval '1 millisecond') AS heard
  FROM stored AS s
 UNION ALL SELECT h.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM held AS h WHERE NOT h.ends
