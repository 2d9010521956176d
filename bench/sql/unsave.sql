-- unsave: remove the rows of `saves`.
DELETE FROM ojs_checkpoint WHERE job_id IN (SELECT id FROM ojs_job WHERE queue = 'bench-saves');
DELETE FROM ojs_lease WHERE id IN (SELECT id FROM ojs_job WHERE queue = 'bench-saves');
DELETE FROM ojs_job WHERE queue = 'bench-saves';
DROP TABLE bench_saves
