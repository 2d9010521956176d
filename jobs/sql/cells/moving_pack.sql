-- moving_pack: take the next listed jobs of a tenant out of this cell, at most `size` jobs and, but
-- for the first, `bytes` bytes: all their rows go into the list, under the number of the batch. From
-- its commit on no claim, no operator and no loop finds these jobs here. A listed job that is active,
-- gone or followed by now, or that has ended and need not move, is dropped from the list. Returns
-- how many jobs were packed by state, and how many listed jobs were read.
-- It takes all rows of a job: tests/jobs/sql/test_rows_of_jobs.py lists the tables.
-- Locks: the narrow rows, in id order per table; then the rows of ended jobs, in id order.
WITH listed AS MATERIALIZED (
    SELECT s.n, s.job_id FROM (
        SELECT m.n, m.job_id,
               sum(coalesce(j.bytes, 0)) OVER (ORDER BY m.n) - coalesce(j.bytes, 0) AS before
          FROM (SELECT x.n, x.job_id FROM ojs_moving_job AS x
                 WHERE x.tenant = %(tenant)s::text AND x.batch IS NULL
                 ORDER BY x.n LIMIT %(size)s::int) AS m
          LEFT JOIN ojs_job AS j ON j.id = m.job_id) AS s
     WHERE s.before < %(bytes)s::bigint
), free AS MATERIALIZED (
    SELECT j.id FROM ojs_job AS j
     WHERE j.id = ANY (ARRAY(SELECT job_id FROM listed)) AND NOT j.watched
       AND j.tenant = %(tenant)s::text
), ready AS (
    DELETE FROM ojs_ready AS r USING (SELECT id FROM ojs_ready
         WHERE id = ANY (ARRAY(SELECT id FROM free)) ORDER BY id FOR UPDATE) AS s WHERE r.id = s.id
    RETURNING r.id, 3 AS state, r.lane_id, r.attempt, r.enqueued_at, NULL::timestamptz AS due_at,
              r.expires_at
), later AS (
    DELETE FROM ojs_later AS r USING (SELECT id FROM ojs_later
         WHERE id = ANY (ARRAY(SELECT id FROM free)) ORDER BY id FOR UPDATE) AS s WHERE r.id = s.id
    RETURNING r.id, r.kind::int AS state, r.lane_id, r.attempt, NULL::timestamptz AS enqueued_at,
              r.due_at, r.expires_at
), waiting AS MATERIALIZED (
    SELECT * FROM ready UNION ALL SELECT * FROM later
), ended AS MATERIALIZED (
    SELECT j.id FROM ojs_job AS j
     WHERE j.id = ANY (ARRAY(SELECT id FROM free)) AND j.state IS NOT NULL
       AND (j.dead_letter OR EXISTS (SELECT 1 FROM ojs_unique AS u WHERE u.job_id = j.id))
     ORDER BY j.id FOR UPDATE OF j
), gone AS (
    DELETE FROM ojs_job AS j
     WHERE j.id = ANY (ARRAY(SELECT id FROM waiting UNION ALL SELECT id FROM ended))
    RETURNING j.*
), delisted AS (
    DELETE FROM ojs_finished AS f USING gone AS g
     WHERE f.queue = g.queue AND f.kind = CASE WHEN g.dead_letter THEN 9 ELSE g.state END
       AND f.finished_at = g.finished_at AND f.id = g.id
), progress AS (
    DELETE FROM ojs_progress AS p USING gone AS g WHERE p.job_id = g.id RETURNING p.*
), unmarked AS (
    DELETE FROM ojs_unique AS u USING gone AS g WHERE u.job_id = g.id RETURNING u.*
), replay AS (
    DELETE FROM ojs_replay AS r USING gone AS g WHERE r.job_id = g.id RETURNING r.*
), expiry AS (
    DELETE FROM ojs_result_expiry AS x USING gone AS g WHERE x.id = g.id RETURNING x.*
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, attempt, bytes)
    SELECT now(), CASE WHEN w.id IS NULL THEN 101 ELSE 102 END, g.id, g.queue, g.type, g.tenant,
           coalesce(w.state, g.state), coalesce(w.attempt, g.attempt),
           CASE WHEN w.id IS NOT NULL THEN -g.bytes END
      FROM gone AS g LEFT JOIN waiting AS w ON w.id = g.id
), packed AS (
    UPDATE ojs_moving_job AS m
       SET batch = %(batch)s::bigint,
           image = jsonb_build_object(
               'job', to_jsonb(g), 'nulls', g.result = 'null', 'wait', to_jsonb(w),
               'unique', to_jsonb(u), 'progress', to_jsonb(p), 'replay', to_jsonb(r),
               'expiry', to_jsonb(x),
               'limits', (SELECT jsonb_agg(jsonb_build_object(
                                     'tenant', l.tenant, 'key', l.key, 'policy', l.policy))
                            FROM ojs_lane_key AS k JOIN ojs_limit AS l ON l.id = ANY (k.limits)
                           WHERE k.id = coalesce(w.lane_id, g.lane_id) AND l.kind = 0))
      FROM listed AS s
      JOIN gone AS g ON g.id = s.job_id
      LEFT JOIN waiting AS w ON w.id = g.id
      LEFT JOIN unmarked AS u ON u.job_id = g.id
      LEFT JOIN progress AS p ON p.job_id = g.id
      LEFT JOIN replay AS r ON r.job_id = g.id
      LEFT JOIN expiry AS x ON x.id = g.id
     WHERE m.tenant = %(tenant)s::text AND m.n = s.n
    RETURNING coalesce(w.state, g.state) AS state
), dropped AS (
    DELETE FROM ojs_moving_job AS m USING listed AS s
     WHERE m.tenant = %(tenant)s::text AND m.n = s.n
       AND s.job_id <> ALL (ARRAY(SELECT id FROM gone))
)
SELECT (SELECT coalesce(jsonb_object_agg(c.state, c.jobs), '{}')
          FROM (SELECT state, count(*) AS jobs FROM packed GROUP BY state) AS c)::text AS packed,
       (SELECT count(*)::int FROM listed) AS read
