-- schema_functions: the hashes of the sources of the installed stored functions.
-- Locks: none.
SELECT f.name, f.hash
  FROM ojs_function AS f
 WHERE EXISTS (SELECT FROM pg_proc AS p WHERE p.proname = f.name AND pg_function_is_visible(p.oid))
