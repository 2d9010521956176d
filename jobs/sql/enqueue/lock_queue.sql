-- lock_queue: serialize the producers of a bounded queue, so that its depth is counted exactly.
SELECT pg_advisory_xact_lock(20266606, hashtext(%(queue)s::text))::text AS locked
