-- forget_touched: delete touched jobs that are too old, at most `batch`.
-- For each of `routes` it also deletes rows beyond the last `kept` failed and the last `kept`
-- acknowledged jobs.
DELETE FROM ojs_version_touched
 WHERE (route, job_id) IN (
       (SELECT h.route, h.job_id FROM ojs_version_touched AS h
         WHERE h.at < now() - %(age_ms)s::bigint * interval '1 millisecond'
         ORDER BY h.at LIMIT %(batch)s::int)
       UNION ALL
       (SELECT m.route, m.job_id
          FROM unnest(%(routes)s::int[]) AS r (route)
         CROSS JOIN (VALUES (false), (true)) AS f (has_failed)
         CROSS JOIN LATERAL (
               SELECT h.route, h.job_id FROM ojs_version_touched AS h
                WHERE h.route = r.route AND h.has_failed = f.has_failed
                ORDER BY h.at DESC, h.job_id DESC
                OFFSET %(kept)s::int LIMIT %(batch)s::int) AS m
         LIMIT %(batch)s::int))
