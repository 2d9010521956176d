-- database: the state of the server and of this database. A role that may not see the sessions of
-- other roles gets null for their ages.
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
