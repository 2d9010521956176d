-- type_runs: starts (kind 3), completions (4) and failed attempts (5) of a type among the latest `looked`
-- events, newest first. The last two columns describe the search and are equal in all rows.
WITH looked AS MATERIALIZED (
    SELECT e.at, e.kind, e.job_id, e.tenant, e.type, e.took_ms
      FROM ojs_event AS e ORDER BY e.stamp DESC, e.seq DESC LIMIT %(looked)s::int
)
SELECT e.at, e.kind, e.job_id::text, e.tenant, e.took_ms,
       (SELECT count(*) FROM looked)::int, (SELECT min(at) FROM looked)
  FROM looked AS e
 WHERE e.type = %(type)s::text AND e.kind IN (3, 4, 5) AND e.job_id IS NOT NULL
 ORDER BY e.at DESC, e.job_id DESC
