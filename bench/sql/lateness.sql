-- lateness: ms from a job's due time to the commit that made it available, by the database's clock.
SELECT extract(epoch FROM pg_xact_commit_timestamp(r.xmin) - d.due_at) * 1000
  FROM bench_due AS d JOIN ojs_ready AS r ON r.id = d.id
