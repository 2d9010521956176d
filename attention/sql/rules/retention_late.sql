-- retention_late: find queues with ended jobs that retention should have removed long ago.
-- Queues with a retention of their own are left out, as are jobs that an extension follows. `ages` are
-- the default retentions in milliseconds by the kind of ended job. The oldest 20 jobs of each queue are
-- read.
WITH kept AS MATERIALIZED (
    SELECT a.key::smallint AS kind, a.value::bigint * interval '1 millisecond' AS age
      FROM jsonb_each_text(%(ages)s::jsonb) AS a
), late AS MATERIALIZED (
    SELECT d.queue, f.finished_at + k.age AS due_at
      FROM (SELECT DISTINCT x.queue FROM ojs_depth AS x
             WHERE x.state IN (6, 7, 8) AND x.jobs > 0
               AND NOT EXISTS (SELECT FROM ojs_queue AS q
                                WHERE q.name = x.queue AND q.config ? 'retention') LIMIT 1000) AS d
     CROSS JOIN kept AS k
     CROSS JOIN LATERAL (SELECT x.finished_at, x.id FROM ojs_finished AS x
                          WHERE x.queue = d.queue AND x.kind = k.kind
                          ORDER BY x.finished_at LIMIT 20) AS f
     WHERE f.finished_at + k.age < now() - %(after_h)s::int * interval '1 hour'
       AND EXISTS (SELECT FROM ojs_job AS j WHERE j.id = f.id AND NOT j.watched)
)
SELECT l.queue, NULL::text, min(l.due_at), count(*), NULL::int, '{}'
  FROM late AS l GROUP BY l.queue ORDER BY 3 LIMIT %(most)s::int
