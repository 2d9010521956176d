-- schema_release: the release of the tables, and the oldest release whose processes may run on them.
-- Locks: none.
SELECT version, serves FROM ojs_release
