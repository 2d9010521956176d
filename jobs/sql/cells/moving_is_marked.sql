-- moving_is_marked: whether another session of this database has locked the number by
-- moving_mark.sql.
-- Locks: tries the advisory lock 20266631 with this number, for this statement.
SELECT NOT pg_try_advisory_xact_lock(20266631, %(number)s::int)
