-- all_completed: a part of complete.sql. One row: `done` has the ids of the jobs that ended, or null
-- if all jobs of the batch ended. `untouched` has the ids of watched jobs.
SELECT CASE WHEN (SELECT count(*) FROM stored) < (SELECT count(*) FROM ack)
            THEN ARRAY(SELECT s.id::text FROM stored AS s) END AS done,
       ARRAY(SELECT h.id::text FROM held AS h WHERE NOT h.ends) AS untouched,
       (SELECT ojs_release(array_agg(DISTINCT e.id), array_agg(DISTINCT m))
          FROM ended AS e CROSS JOIN LATERAL unnest(e.limits) AS m) AS freed,
       (SELECT ojs_heard(array_agg(e.worker_id), %(heard_ms)s::bigint) FROM ended AS e
         WHERE e.started_at < now() - %(heard_ms)s::bigint * interval '1 millisecond') AS heard
