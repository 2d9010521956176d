-- replicas: servers that replicate this server, and their lag.
SELECT application_name, host(client_addr), state, sync_state,
       extract(epoch FROM replay_lag) * 1000, pg_wal_lsn_diff(sent_lsn, replay_lsn)::bigint
  FROM pg_stat_replication ORDER BY application_name, client_addr
