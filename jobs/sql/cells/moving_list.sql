-- moving_list: list the jobs of a tenant that move to another cell: waiting jobs in the order of
-- their lanes, dead letters, and ended jobs with a fingerprint, which may still refuse equal jobs.
-- Jobs that an extension follows stay. The list of the tenant must be empty.
-- Locks: none; moving_pack.sql looks at each job again.
WITH lane AS MATERIALIZED (
    SELECT k.id FROM ojs_lane_key AS k WHERE k.tenant = %(tenant)s::text
), found AS (
    SELECT r.id, 1 AS part, r.seq FROM lane AS k JOIN ojs_ready AS r ON r.lane_id = k.id
    UNION
    SELECT w.id, 2, NULL FROM ojs_later AS w WHERE w.lane_id = ANY (ARRAY(SELECT id FROM lane))
    UNION
    SELECT f.id, 3, NULL FROM ojs_finished AS f WHERE f.kind = 9
    UNION
    SELECT u.job_id, 3, NULL FROM ojs_unique AS u
), moving AS (
    SELECT f.id, row_number() OVER (ORDER BY f.part, f.seq, f.id) AS n
      FROM found AS f JOIN ojs_job AS j ON j.id = f.id
     WHERE j.tenant = %(tenant)s::text AND NOT j.watched AND (f.part < 3 OR j.state IS NOT NULL)
), listed AS (
    INSERT INTO ojs_moving_job (tenant, n, job_id)
    SELECT %(tenant)s::text, n, id FROM moving
    RETURNING 1
)
SELECT count(*)::int FROM listed
