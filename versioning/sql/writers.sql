-- writers: other transactions that may store jobs under an older configuration.
-- These have written to ojs_job, whose lock they took before they read anything, or hold a snapshot.
-- `among` limits the search to transactions found before; null: all that are open now.
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
