-- scratch_shadow: put functions of the scratch schema in front of the server's functions: the clock is a
-- setting, and nothing reaches beyond the schema. Advisory locks and notifications belong to the whole
-- database. A scratch schema has one session, so it needs no locks and wakes no waiter.
DO $make$
BEGIN
    CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT current_setting('ojs.clock')::timestamptz $$;
    CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT current_setting('ojs.clock')::timestamptz $$;
    CREATE FUNCTION statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT current_setting('ojs.clock')::timestamptz $$;
    CREATE FUNCTION pg_advisory_xact_lock(int, int) RETURNS void LANGUAGE sql AS '';
    CREATE FUNCTION pg_advisory_xact_lock(bigint) RETURNS void LANGUAGE sql AS '';
    CREATE FUNCTION pg_advisory_xact_lock_shared(int, int) RETURNS void LANGUAGE sql AS '';
    CREATE FUNCTION pg_advisory_xact_lock_shared(bigint) RETURNS void LANGUAGE sql AS '';
    CREATE FUNCTION pg_try_advisory_xact_lock(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT true';
    CREATE FUNCTION pg_try_advisory_xact_lock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true';
    CREATE FUNCTION pg_notify(text, text) RETURNS void LANGUAGE sql AS '';
END $make$
