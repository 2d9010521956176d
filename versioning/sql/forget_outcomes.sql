-- forget_outcomes: delete outcomes that are older than any window, at most `batch`.
DELETE FROM ojs_version_outcome
 WHERE (route, at) IN (SELECT o.route, o.at FROM ojs_version_outcome AS o
                        WHERE o.at < now() - %(age_ms)s::bigint * interval '1 millisecond'
                        ORDER BY o.at LIMIT %(batch)s::int)
