-- schema_columns: the columns of tables that the session sees: table, column, type without length,
-- and whether an INSERT must name the column.
-- Locks: none.
SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL),
       a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
  FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
 WHERE c.relname = ANY (%(tables)s::text[]) AND c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid)
   AND a.attnum > 0 AND NOT a.attisdropped
