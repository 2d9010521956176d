-- tables: the largest tables of this schema, with their dead rows by the statistics.
SELECT s.relname, pg_total_relation_size(s.relid), pg_indexes_size(s.relid), s.n_live_tup, s.n_dead_tup,
       greatest(s.last_vacuum, s.last_autovacuum), greatest(s.last_analyze, s.last_autoanalyze)
  FROM pg_stat_user_tables AS s
 WHERE s.schemaname = current_schema()
 ORDER BY pg_total_relation_size(s.relid) DESC, s.relname LIMIT %(size)s::int
