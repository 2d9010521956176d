-- wal_written: how far the WAL of the database goes, in bytes, and the database cluster. Commits that
-- are visible here are in the WAL before this position, unflushed ones included. The timeline is that of
-- the WAL: after a promotion the control file has the old one until its first checkpoint.
SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint AS written,
       (SELECT system_identifier FROM pg_control_system()) AS cluster,
       ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int AS timeline
