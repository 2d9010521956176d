-- scratch_depths: set how many jobs of queues are available, as aggregated events would; `queues` and
-- `jobs` correspond by position.
INSERT INTO ojs_depth AS d (queue, state, jobs)
SELECT u.queue, 3, u.jobs FROM unnest(%(queues)s::text[], %(jobs)s::bigint[]) AS u (queue, jobs)
ON CONFLICT (queue, state) DO UPDATE SET jobs = excluded.jobs
