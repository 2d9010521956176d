-- ended: ids of ended jobs.
SELECT id::text FROM ojs_finished ORDER BY random() LIMIT {number}
