-- cron_failing: find enabled schedules whose latest runs have all failed: the job was discarded, or no
-- job was made because of an error. Runs that have not ended, and skipped runs, do not count.
-- `since` is the time of the first failed run after the last good run, among the kept runs.
WITH latest AS MATERIALIZED (
    SELECT e.id, e.name, e.tenant, e.noted,
           (SELECT array_agg(x.is_bad) FROM (
                SELECT coalesce(j.state = 8, r.job_id IS NULL) AS is_bad
                  FROM ojs_cron_run AS r LEFT JOIN ojs_job AS j ON j.id = r.job_id
                 WHERE r.entry_id = e.id
                   AND r.slot IN ((e.noted - 1) %% 100, (e.noted + 98) %% 100, (e.noted + 97) %% 100)
                   AND coalesce(r.reason, '') NOT IN ('overlap_skip', 'dst_skip', 'duplicate', 'dropped')
                   AND (r.job_id IS NULL OR j.state IS NOT NULL)) AS x) AS ends
      FROM ojs_cron_entry AS e
     WHERE e.enabled AND e.noted > 0 ORDER BY e.last_run_at DESC NULLS LAST LIMIT 2000
), doubted AS MATERIALIZED (
    SELECT l.* FROM latest AS l WHERE true = ALL (l.ends) LIMIT %(most)s::int * 4
), run AS MATERIALIZED (
    SELECT d.id, r.number, r.noted_at, r.job_id, r.reason, r.detail, j.tenant, j.error,
           coalesce(j.state = 8, r.job_id IS NULL) AS is_bad
      FROM doubted AS d
      JOIN ojs_cron_run AS r ON r.entry_id = d.id AND r.number > d.noted - 100
      LEFT JOIN ojs_job AS j ON j.id = r.job_id
     WHERE coalesce(r.reason, '') NOT IN ('overlap_skip', 'dst_skip', 'duplicate', 'dropped')
       AND (r.job_id IS NULL OR j.state IS NOT NULL)
), failed AS MATERIALIZED (
    SELECT r.id, count(*) AS runs, min(r.noted_at) AS since,
           (array_agg(r.job_id::text ORDER BY r.number DESC))[1] AS job,
           (array_agg(coalesce(r.detail, r.reason, r.error ->> 'message')
                      ORDER BY r.number DESC))[1] AS why
      FROM run AS r
     WHERE r.number > coalesce((SELECT max(g.number) FROM run AS g
                                 WHERE g.id = r.id AND NOT g.is_bad), -1)
     GROUP BY r.id HAVING count(*) >= %(runs)s::int
)
SELECT d.id::text, d.tenant, f.since, f.runs, 1,
       jsonb_build_object('name', d.name, 'runs', f.runs, 'job', f.job, 'why', left(f.why, 200))::text
  FROM failed AS f JOIN doubted AS d USING (id) ORDER BY f.runs DESC, d.id LIMIT %(most)s::int
