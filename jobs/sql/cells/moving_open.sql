-- moving_open: the open transactions of other clients of this database, by virtual id, with their
-- sessions. Each transaction holds a lock on its virtual id, which all roles can see.
-- Locks: none.
SELECT l.virtualtransaction, l.pid
  FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
 WHERE l.locktype = 'virtualxid' AND l.granted AND a.datname = current_database()
   AND a.usesysid IS NOT NULL AND l.pid <> pg_backend_pid()
