-- ojs_tell_awaited: the trigger of ojs_finished: notify the processes that wait for the ends of jobs, on
-- the channel ojs_ended, with the id of the job. Notifications serialize commits, so there is none for
-- other jobs. Each statement has a snapshot of its own: it finds the jobs of waiters that asked until
-- now. A waiter that asks later sees the locked row of the job: see await_look.sql.
CREATE OR REPLACE FUNCTION ojs_tell_awaited() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM ojs_awaited) THEN
        PERFORM pg_notify('ojs_ended', e.id::text) FROM ended AS e
          WHERE EXISTS (SELECT FROM ojs_awaited AS a WHERE a.job_id = e.id);
    END IF;
    RETURN NULL;
END $$
