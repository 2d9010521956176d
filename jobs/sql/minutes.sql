-- minutes: what happened to the jobs of a queue in the last `minutes`.
SELECT coalesce(sum(completed), 0)::bigint, coalesce(sum(failed), 0)::bigint,
       coalesce(sum(started), 0)::bigint, coalesce(sum(wait_ms), 0)::bigint,
       coalesce(sum(run_ms), 0)::bigint
  FROM ojs_minute
 WHERE minute > now() - %(minutes)s::int * interval '1 minute' AND queue = %(queue)s::text
