-- unique_jobs: jobs that block equal jobs by their own policy, newest first; `total` counts them among
-- the newest `looked` fingerprints.
WITH looked AS MATERIALIZED (
    SELECT u.job_id, u.fingerprint, u.created_at FROM ojs_unique AS u
     ORDER BY u.job_id DESC LIMIT %(looked)s::int
), stated AS (
    SELECT k.job_id, k.fingerprint, k.created_at, j.*
      FROM looked AS k
     CROSS JOIN LATERAL (  -- OFFSET 0 keeps the planner from a join over the whole tables
           SELECT j.type, j.queue, j.attributes -> 'unique' AS policy,
                  coalesce(j.state, CASE WHEN a.id IS NOT NULL THEN 3 WHEN l.id IS NOT NULL THEN 4
                                         ELSE w.kind END)::int AS state
             FROM ojs_job AS j
             LEFT JOIN ojs_ready AS a ON a.id = j.id
             LEFT JOIN ojs_lease AS l ON l.id = j.id
             LEFT JOIN ojs_later AS w ON w.id = j.id
            WHERE j.id = k.job_id
              AND (%(tenant)s::text IS NULL OR j.tenant = %(tenant)s::text)
           OFFSET 0) AS j
), kept AS (
    SELECT s.*, s.created_at + (s.policy ->> 'period')::interval AS locked_until
      FROM stated AS s
     WHERE s.policy -> 'states' ? (%(states)s::text[])[s.state]
       AND (s.policy ->> 'period' IS NULL
            OR s.created_at + (s.policy ->> 'period')::interval > now())
)
SELECT encode(k.fingerprint, 'hex') AS key, k.job_id, k.type, k.queue, k.state, k.locked_until,
       (SELECT count(*) FROM kept)::int AS total
  FROM kept AS k ORDER BY k.job_id DESC OFFSET %(offset)s::int LIMIT %(limit)s::int
