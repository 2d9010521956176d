-- lock_queues: let one producer of a bounded queue pass at a time, so that its depth is exact.
-- Locks: the queues (advisory, by the hash of their names), in order of their names, until the
-- transaction ends.
SELECT pg_advisory_xact_lock(20266606, hashtext(q.name))::text AS locked
  FROM (SELECT x AS name FROM unnest(%(queues)s::text[]) AS x ORDER BY x COLLATE "C") AS q
