-- runs: how many acknowledged attempts of some routes ran for how long since a minute, by bucket.
SELECT u.route, u.bucket, sum(u.jobs)::bigint AS jobs
  FROM unnest(%(routes)s::int[]) AS r (route)
 CROSS JOIN LATERAL (SELECT t.route, t.bucket, t.jobs FROM ojs_version_run AS t
                      WHERE t.route = r.route AND t.at >= %(since)s::timestamptz
                    OFFSET 0) AS u  -- else the minutes of all routes may be read
 GROUP BY u.route, u.bucket
