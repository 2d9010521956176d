-- database: one look at the server and this database. Sessions of others tell nothing of themselves to a
-- role that may not see them: their ages are null then.
SELECT pg_database_size(current_database()), current_setting('server_version'),
       pg_postmaster_start_time(), clock_timestamp(), pg_is_in_recovery(),
       (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
           AND backend_type = 'client backend'),
       current_setting('max_connections')::int,
       (SELECT min(xact_start) FROM pg_stat_activity WHERE datname = current_database()
           AND pid <> pg_backend_pid() AND backend_type = 'client backend'),
       (SELECT count(*) FROM pg_locks WHERE NOT granted),
       (SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()),
       (SELECT deadlocks FROM pg_stat_database WHERE datname = current_database())
