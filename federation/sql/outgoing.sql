-- outgoing: the next revisions of this region's jobs after a peer's cursor, oldest first: at most
-- `batch`, with payloads of about `bytes` in their stored size.
SELECT q.job_id, q.tenant, q.federation_id, q.type, q.queue, q.state, q.priority, q.attempt,
       q.created_at, q.enqueued_at, q.completed_at, q.revision, q.bound_to, q.adopts_region,
       q.adopts_job, q.payload::text AS payload
  FROM (SELECT m.*, sum(coalesce(pg_column_size(m.payload), 0)) OVER (ORDER BY m.revision)
                    - coalesce(pg_column_size(m.payload), 0) AS ahead
          FROM (SELECT * FROM ojs_federation_job
                 WHERE origin_region = %(region)s::text AND revision > %(cursor)s::bigint
                 ORDER BY origin_region, revision LIMIT %(batch)s::int) AS m) AS q
 WHERE q.ahead < %(bytes)s::bigint
 ORDER BY q.revision
