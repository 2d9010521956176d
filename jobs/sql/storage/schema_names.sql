-- schema_names: the names of indexes, constraints and triggers of tables that the session sees.
-- Locks: none.
WITH tables AS (
    SELECT c.oid FROM pg_class AS c
     WHERE c.relname = ANY (%(tables)s::text[]) AND pg_table_is_visible(c.oid)
)
SELECT c.relname::text FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
 WHERE i.indrelid IN (SELECT oid FROM tables)
UNION
SELECT conname::text FROM pg_constraint WHERE conrelid IN (SELECT oid FROM tables)
UNION
SELECT tgname::text FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM tables)
