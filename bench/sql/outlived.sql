-- outlived: jobs that ended before the bound of retention, with a copy for the limit.
DROP TABLE IF EXISTS bench_job, bench_finished;
CREATE TABLE bench_job (LIKE ojs_job INCLUDING ALL);
CREATE TABLE bench_finished (LIKE ojs_finished INCLUDING ALL);
INSERT INTO bench_job (id, type, queue, tenant, lane_id, priority, watched, args, meta, attributes,
                       max_attempts, timeout_ms, created_at, state, attempt, finished_at, ran)
SELECT uuidv7(), '{type}', 'bench-in', 'bench', 1, 0, false, '{args}', '{meta}', '{attributes}', 3,
       1800000, now() - interval '9 days', 6, 1,
       now() - interval '8 days' + n * interval '1 microsecond', true
  FROM generate_series(1, {number}) AS n;
INSERT INTO bench_finished (queue, kind, finished_at, id)
SELECT queue, 6, finished_at, id FROM bench_job;
ANALYZE bench_job, bench_finished;
INSERT INTO ojs_depth AS d (queue, state, jobs) VALUES ('bench-in', 6, {number})
ON CONFLICT (queue, state) DO UPDATE SET jobs = d.jobs + excluded.jobs;
INSERT INTO ojs_job SELECT * FROM bench_job;
INSERT INTO ojs_finished SELECT * FROM bench_finished;
