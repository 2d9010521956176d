-- lateness: ms from when a job was due to the commit that let it be claimed, by the database's clock.
SELECT extract(epoch FROM pg_xact_commit_timestamp(r.xmin) - d.due_at) * 1000
  FROM bench_due AS d JOIN ojs_ready AS r ON r.id = d.id
