-- stall: mark running jobs that reported progress and then nothing for `quiet_ms`, at most `batch`.
-- Each report is read once: jobs that ended meanwhile are no longer followed.
-- Locks: the progress rows, SKIP LOCKED: a concurrent report wins.
WITH quiet AS MATERIALIZED (
    SELECT p.job_id, p.attempt, p.progress, p.updated_at FROM ojs_progress AS p
     WHERE p.is_watched AND p.told_at < now() - %(quiet_ms)s::bigint * interval '1 millisecond'
       AND p.updated_at < now() - %(quiet_ms)s::bigint * interval '1 millisecond'
     ORDER BY p.told_at LIMIT %(batch)s::int FOR NO KEY UPDATE SKIP LOCKED
), stalled AS MATERIALIZED (
    SELECT q.job_id, q.attempt, q.progress, q.updated_at, l.worker_id, j.queue, j.type, j.tenant
      FROM quiet AS q
     CROSS JOIN LATERAL (SELECT x.worker_id, x.attempt FROM ojs_lease AS x
                          WHERE x.id = q.job_id OFFSET 0) AS l
     CROSS JOIN LATERAL (SELECT x.queue, x.type, x.tenant FROM ojs_job AS x
                          WHERE x.id = q.job_id OFFSET 0) AS j
     WHERE l.attempt = q.attempt
), marked AS (
    UPDATE ojs_progress AS p
       SET is_watched = false,
           stalled_at = CASE WHEN p.job_id IN (SELECT s.job_id FROM stalled AS s) THEN now() END
     WHERE p.job_id = ANY (ARRAY(SELECT job_id FROM quiet))
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, attempt, worker_id, data)
    SELECT now(), 82, job_id, queue, type, tenant, attempt, worker_id,
           jsonb_build_object('progress_percent', round((progress * 100)::numeric),
                              'last_update_at', ojs_time(updated_at))
      FROM stalled
)
SELECT count(*)::int AS looked_at, (SELECT count(*) FROM stalled)::int AS stalled FROM quiet
