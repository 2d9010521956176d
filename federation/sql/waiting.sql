-- waiting: the waiting jobs of a region by their copies, by id after `after`; at most `batch`.
-- Locks: the copies, SKIP LOCKED: concurrent adoptions share the copies.
SELECT m.job_id, m.tenant, m.federation_id, m.type, m.queue, m.state, m.priority, m.enqueued_at,
       m.bound_to, m.winner, m.payload::text AS payload
  FROM ojs_federation_job AS m
 WHERE m.origin_region = %(region)s::text AND m.job_id > %(after)s::uuid
   AND m.state IN ('available', 'scheduled', 'retryable', 'pending') AND m.adopted_as IS NULL
   AND (%(queue)s::text IS NULL OR m.queue = %(queue)s::text)
 ORDER BY m.origin_region, m.job_id LIMIT %(batch)s::int
   FOR UPDATE SKIP LOCKED
