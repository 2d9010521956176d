-- schema_release: of which release the tables are, and the oldest whose processes may run on them.
-- Locks: none.
SELECT version, serves FROM ojs_release
