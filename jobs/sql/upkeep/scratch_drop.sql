-- scratch_drop: remove the session's scratch schema, if it was made, with all its contents.
DO $$
BEGIN
    EXECUTE format('DROP SCHEMA IF EXISTS %%I CASCADE', current_setting('ojs.scratch'));
END $$
