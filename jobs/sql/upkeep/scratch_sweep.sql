-- scratch_sweep: remove the scratch schemas of sessions that ended without removing them.
-- Locks: the name of each, exclusive, tried: the session that works in a schema holds its name.
DO $$
DECLARE
    v_name text;
BEGIN
    FOR v_name IN SELECT n.nspname FROM pg_namespace AS n WHERE n.nspname ~ '^ojs_scratch_[0-9a-f]+$'
    LOOP
        IF v_name <> current_setting('ojs.scratch')
           AND pg_try_advisory_xact_lock(20266611, hashtext(v_name))
        THEN
            EXECUTE format('DROP SCHEMA IF EXISTS %%I CASCADE', v_name);
        END IF;
    END LOOP;
END $$
