-- outgrown: tables that have more than doubled since the planner's numbers of them were taken, in size
-- or in rows: numbers that autovacuum takes while a large transaction is open know its pages, but
-- none of its rows. Only those that this role may analyze.
SELECT c.relname FROM pg_class AS c
 WHERE c.oid = ANY (%(tables)s::text[]::regclass[])
   AND (pg_relation_size(c.oid) / current_setting('block_size')::int > 2 * greatest(c.relpages, 4)
        OR pg_stat_get_live_tuples(c.oid) > 2 * greatest(c.reltuples, 1000))
   AND pg_has_role(c.relowner, 'USAGE')
 ORDER BY c.relname
