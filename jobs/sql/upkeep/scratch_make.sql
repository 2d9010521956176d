-- scratch_make: make the scratch schema with empty, unlogged copies of the session's tables, and move
-- into it. Afterwards the session sees names of this schema and of pg_catalog only: a table that was not
-- copied is an error, never the live table. Sequences are its own; the rows of tables in ojs.copied are
-- copied. Tables in ojs.unread get no indexes.
-- Locks: ACCESS SHARE on the tables that are copied.
DO $$
DECLARE
    v_scratch text := current_setting('ojs.scratch');
    v_table text;
    v_options text;
    v_index record;
BEGIN
    EXECUTE format('CREATE SCHEMA %%I', v_scratch);
    FOREACH v_table IN ARRAY string_to_array(current_setting('ojs.tables'), ',') LOOP
        SELECT coalesce(' WITH (' || array_to_string(c.reloptions, ', ') || ')', '') INTO v_options
          FROM pg_class AS c WHERE c.oid = v_table::regclass;
        EXECUTE format('CREATE UNLOGGED TABLE %%I.%%I (LIKE %%s INCLUDING ALL %%s)%%s',
                       v_scratch, v_table, v_table::regclass,
                       CASE WHEN v_table = ANY (string_to_array(current_setting('ojs.unread'), ','))
                            THEN 'EXCLUDING INDEXES' END, v_options);
    END LOOP;
    -- Two lanes of one virtual time have a random order; here the lane that was made first is first.
    FOR v_index IN SELECT i.indexrelid::regclass AS name, pg_get_indexdef(i.indexrelid) AS made
                     FROM pg_index AS i WHERE i.indrelid = format('%%I.ojs_lane', v_scratch)::regclass
    LOOP
        IF position('(queue, rank, vt)' IN v_index.made) > 0 THEN
            EXECUTE format('DROP INDEX %%s', v_index.name);
            EXECUTE replace(v_index.made, '(queue, rank, vt)', '(queue, rank, vt, id)');
        END IF;
    END LOOP;
    FOREACH v_table IN ARRAY string_to_array(current_setting('ojs.copied'), ',') LOOP
        EXECUTE format('INSERT INTO %%I.%%I SELECT * FROM %%s', v_scratch, v_table, v_table::regclass);
    END LOOP;
    PERFORM set_config('search_path', quote_ident(v_scratch) || ', pg_catalog', false);
END $$
