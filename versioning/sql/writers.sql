-- writers: transactions of others that may store jobs by what they knew before: those that have
-- written to ojs_job, whose lock they took before they looked at anything, and those that hold a
-- snapshot. `among` asks which of some are still open; null: all that there are now.
SELECT DISTINCT l.virtualtransaction
  FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
 WHERE l.pid IS DISTINCT FROM pg_backend_pid()
   AND CASE WHEN %(among)s::text[] IS NOT NULL
            THEN l.virtualtransaction = ANY (%(among)s::text[])
            ELSE l.relation = 'ojs_job'::regclass AND l.mode = 'RowExclusiveLock'
                 AND l.database = (SELECT d.oid FROM pg_database AS d
                                    WHERE d.datname = current_database())
                 OR l.locktype = 'virtualxid' AND l.mode = 'ExclusiveLock'
                    AND a.datname = current_database() AND a.backend_type = 'client backend'
                    AND a.backend_xmin IS NOT NULL END
