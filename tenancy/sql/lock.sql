-- lock: let producers of counted tenants run one after another; otherwise a count would miss jobs that
-- a concurrent producer is about to add.
-- Locks: the tenants (advisory, by the hash of their ids, in its order), until the transaction ends.
SELECT pg_advisory_xact_lock(20266612, t.key)::text
  FROM (SELECT DISTINCT hashtext(u.id) AS key FROM unnest(%(tenants)s::text[]) AS u (id)
         ORDER BY 1) AS t
