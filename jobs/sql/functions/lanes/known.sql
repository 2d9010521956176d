-- ojs_known: check that the lanes of new jobs exist. It serves jobs that are not available yet, and
-- jobs whose lanes the caller wakes later.
-- Raises OJS01 if a lane does not exist: the caller's cache is stale and it must store nothing.
CREATE OR REPLACE FUNCTION ojs_known(p_lanes bigint[]) RETURNS boolean
LANGUAGE plpgsql STRICT AS $$
BEGIN
    IF (SELECT count(*) FROM ojs_lane AS l WHERE l.id = ANY (p_lanes)) < cardinality(p_lanes) THEN
        RAISE EXCEPTION 'a lane is gone' USING ERRCODE = 'OJS01';
    END IF;
    RETURN true;
END $$
SET enable_seqscan = off
