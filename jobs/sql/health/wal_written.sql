-- wal_written: how far the WAL of the database goes, in bytes, and the database cluster. Commits that
-- are visible here are in the WAL before this position, unflushed ones included.
SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint AS written,
       (SELECT system_identifier FROM pg_control_system()) AS cluster,
       (SELECT timeline_id FROM pg_control_checkpoint()) AS timeline
