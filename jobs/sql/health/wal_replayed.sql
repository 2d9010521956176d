-- wal_replayed: how far a hot standby has replayed the WAL, in bytes; null: the server is no standby.
-- The timeline is that of the last checkpoint that it has replayed, and so the old one for a while after
-- a failover. The age of the last replayed commit is by the clocks of two machines.
SELECT CASE WHEN pg_is_in_recovery()
            THEN (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint END AS replayed,
       (SELECT system_identifier FROM pg_control_system()) AS cluster,
       (SELECT timeline_id FROM pg_control_checkpoint()) AS timeline,
       (extract(epoch FROM now() - pg_last_xact_replay_timestamp()) * 1000)::bigint AS commit_age_ms
