-- schema_functions: the hashes of the sources of the installed stored functions and types.
-- Locks: none.
SELECT f.name, f.hash
  FROM ojs_function AS f
 WHERE f.name = 'ojs_types'  -- a type that was dropped by hand has taken its functions along
    OR EXISTS (SELECT FROM pg_proc AS p WHERE p.proname = f.name AND pg_function_is_visible(p.oid))
