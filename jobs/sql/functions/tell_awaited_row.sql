-- ojs_tell_awaited_row: the row trigger of tables of other ends than those of jobs, such as workflows:
-- notify the processes that wait for the id of the row. The condition of the trigger names the end.
-- A waiter that asks later sees the locked row: see tell_awaited.sql.
CREATE OR REPLACE FUNCTION ojs_tell_awaited_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM ojs_awaited AS a WHERE a.job_id = NEW.id) THEN
        PERFORM pg_notify('ojs_ended', NEW.id::text);
    END IF;
    RETURN NULL;
END $$
