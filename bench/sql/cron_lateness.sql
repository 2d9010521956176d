-- cron_lateness: ms from the time of a tick to the commit of its job.
SELECT extract(epoch FROM pg_xact_commit_timestamp(r.xmin)
                          - (j.meta ->> 'cron_triggered_at')::timestamptz) * 1000
  FROM ojs_job AS j JOIN ojs_ready AS r ON r.id = j.id WHERE j.queue = 'bench-cron'
