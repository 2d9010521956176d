-- runs: run times of acknowledged attempts of some version keys since a minute, as counts by bucket.
SELECT u.route, u.bucket, sum(u.jobs)::bigint AS jobs
  FROM unnest(%(routes)s::int[]) AS r (route)
 CROSS JOIN LATERAL (SELECT t.route, t.bucket, t.jobs FROM ojs_version_run AS t
                      WHERE t.route = r.route AND t.at >= %(since)s::timestamptz
                    OFFSET 0) AS u  -- else the minutes of all version keys may be read
 GROUP BY u.route, u.bucket
