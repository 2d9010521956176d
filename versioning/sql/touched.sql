-- touched: the last jobs whose attempts of some version keys ended, latest first.
-- `failed` selects failed (true), acknowledged (false) or all attempts (null). The row has the current
-- state of the job as a code; it is null, with the other members, for a deleted job. Running attempts
-- are not included.
WITH last AS MATERIALIZED (
    SELECT m.job_id, max(m.at) AS at, (array_agg(m.has_failed ORDER BY m.at DESC))[1] AS has_failed
      FROM unnest(%(routes)s::int[]) AS r (route)
     CROSS JOIN (VALUES (false), (true)) AS f (has_failed)
     CROSS JOIN LATERAL (
           SELECT h.job_id, h.at, h.has_failed FROM ojs_version_touched AS h
            WHERE h.route = r.route AND h.has_failed = f.has_failed
              AND (%(failed)s::boolean IS NULL OR f.has_failed = %(failed)s::boolean)
            ORDER BY h.at DESC, h.job_id DESC LIMIT %(offset)s::int + %(limit)s::int) AS m
     GROUP BY m.job_id
     ORDER BY at DESC, m.job_id DESC
    OFFSET %(offset)s::int LIMIT %(limit)s::int
)
SELECT t.job_id::text AS id, t.at, t.has_failed, j.queue, j.tenant, j.version, j.attempt,
       coalesce(j.state,
                (SELECT 3 FROM ojs_ready AS y WHERE y.id = t.job_id),
                (SELECT 4 FROM ojs_lease AS x WHERE x.id = t.job_id),
                (SELECT l.kind FROM ojs_later AS l WHERE l.id = t.job_id)) AS state
  FROM last AS t
  LEFT JOIN LATERAL (SELECT o.queue, o.tenant, o.version, o.attempt, o.state FROM ojs_job AS o
                      WHERE o.id = t.job_id OFFSET 0) AS j ON true
 ORDER BY t.at DESC, t.job_id DESC
