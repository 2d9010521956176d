-- lock: producers of tenants whose new jobs are counted follow one another, so that nobody counts what
-- somebody else is about to add.
-- Locks: the tenants (advisory, by the hash of their ids, in its order), until the transaction ends.
SELECT pg_advisory_xact_lock(20266612, t.key)::text
  FROM (SELECT DISTINCT hashtext(u.id) AS key FROM unnest(%(tenants)s::text[]) AS u (id)
         ORDER BY 1) AS t
