-- forget_runs: delete run times that are older than any window, at most `batch`.
DELETE FROM ojs_version_run
 WHERE (route, at, bucket) IN (
       SELECT u.route, u.at, u.bucket FROM ojs_version_run AS u
        WHERE u.at < now() - %(age_ms)s::bigint * interval '1 millisecond'
        ORDER BY u.at LIMIT %(batch)s::int)
