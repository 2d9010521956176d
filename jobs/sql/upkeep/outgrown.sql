-- outgrown: tables that have more than doubled in size or rows since they were analyzed. If autovacuum
-- analyzes a table while a large transaction is open, it counts the pages of the transaction but not its
-- rows. Only tables that this role may analyze.
SELECT c.relname FROM pg_class AS c
 WHERE c.oid = ANY (%(tables)s::text[]::regclass[])
   AND (pg_relation_size(c.oid) / current_setting('block_size')::int > 2 * greatest(c.relpages, 4)
        OR pg_stat_get_live_tuples(c.oid) > 2 * greatest(c.reltuples, 1000))
   AND pg_has_role(c.relowner, 'USAGE')
 ORDER BY c.relname
