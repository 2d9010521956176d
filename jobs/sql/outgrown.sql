-- outgrown: tables that have more than doubled since the planner's numbers of them were taken.
-- Only those that this role may analyze.
SELECT c.relname FROM pg_class AS c
 WHERE c.oid = ANY (%(tables)s::text[]::regclass[])
   AND pg_relation_size(c.oid) / current_setting('block_size')::int > 2 * greatest(c.relpages, 4)
   AND pg_has_role(c.relowner, 'USAGE')
 ORDER BY c.relname
