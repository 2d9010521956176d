-- loops: the last tick of each loop, and its leader: the session that holds its lock.
-- `names` and `keys` are the existing loops with the second keys of their locks.
SELECT n.name, t.ticked_at,
       coalesce(t.ticked_at < now() - %(stale_ms)s::bigint * interval '1 millisecond', true),
       a.pid, host(a.client_addr), a.application_name, a.backend_start
  FROM unnest(%(names)s::text[], %(keys)s::bigint[]) AS n (name, key)
  LEFT JOIN ojs_loop AS t ON t.name = n.name
  LEFT JOIN pg_locks AS l ON l.locktype = 'advisory' AND l.classid = 20266604 AND l.granted
                         AND l.objid::bigint = n.key AND l.database = (
                             SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
  LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
 ORDER BY n.name
