-- ojs_wake: make lanes that received jobs visible to the claim; the statement that inserts ready
-- rows calls it. Returns how many lanes it woke.
-- Locks: the lanes' stripes (shared), until commit. Then the lane rows that change, in id order. A
-- claim retires an empty lane only under the exclusive stripe lock, after another search for jobs.
-- So either the claim finds the new jobs, or this function reads that the lane is retired and wakes
-- it: each statement in a function body has a fresh snapshot.
-- Raises OJS01 if a lane does not exist: the caller's cache is stale and it must store nothing.
CREATE OR REPLACE FUNCTION ojs_wake(p_lanes bigint[]) RETURNS int
LANGUAGE plpgsql STRICT AS $$
DECLARE
    known int;
    awake int;
    one bigint;
    lane record;
BEGIN
    -- Most calls have a few lanes that are awake: ojs_awake reads them with a cached plan. The
    -- statements below serve longer lists, and lanes that are retired or do not exist. PostgreSQL
    -- plans them anew each time, because the length of the array is unknown.
    IF cardinality(p_lanes) <= 4 THEN
        awake := 0;
        FOREACH one IN ARRAY p_lanes LOOP
            EXIT WHEN ojs_awake(one) IS NOT TRUE;
            awake := awake + 1;
        END LOOP;
        IF awake = cardinality(p_lanes) THEN
            RETURN 0;
        END IF;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(20266603, s.stripe)
       FROM (SELECT DISTINCT (l % 128)::int AS stripe FROM unnest(p_lanes) AS l ORDER BY 1) AS s;
    SELECT count(*), count(*) FILTER (WHERE l.active) INTO known, awake
      FROM ojs_lane AS l WHERE l.id = ANY (p_lanes);
    IF known < cardinality(p_lanes) THEN
        RAISE EXCEPTION 'a lane is gone' USING ERRCODE = 'OJS01';
    END IF;
    IF awake < known THEN
        FOR lane IN SELECT l.id, l.queue FROM ojs_lane AS l
                     WHERE l.id = ANY (p_lanes) AND NOT l.active ORDER BY l.id
        LOOP
            UPDATE ojs_lane AS l SET active = true, vt = ojs_rejoin(l),
               paid = CASE WHEN l.scope IS NULL THEN 0
                           ELSE ojs_served(l.scope, l.rank, l.tenant) END
             WHERE l.id = lane.id AND NOT l.active;
            IF FOUND THEN
                PERFORM pg_notify('ojs_ready', lane.queue);
            END IF;
        END LOOP;
    END IF;
    RETURN known - awake;
END $$
