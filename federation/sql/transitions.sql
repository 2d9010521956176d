-- transitions: read the event record after a position. Returns the reached position, the number of
-- events, and the changed federated jobs of this region with the facts of their last events.
-- Only complete events are read, so no event appears before a position that was read.
-- A removed job is returned if it has a copy. Kind 81 is a change of priority, 14 a checkpoint; other
-- events without a state change nothing that is replicated.
WITH read AS MATERIALIZED (
    SELECT e.stamp, e.seq, e.at, e.kind, e.job_id, e.to_state, e.attempt
      FROM ojs_event AS e
     WHERE (e.stamp, e.seq) > (%(stamp)s::text::xid8, %(seq)s::bigint)
       AND e.stamp < pg_snapshot_xmin(pg_current_snapshot())
     ORDER BY e.stamp, e.seq LIMIT %(batch)s::int
), latest AS MATERIALIZED (
    SELECT DISTINCT ON (job_id) job_id, at, to_state, attempt FROM read
     WHERE job_id IS NOT NULL AND (to_state IS NOT NULL OR kind IN (14, 81))
     ORDER BY job_id, stamp DESC, seq DESC
), reached AS (
    SELECT stamp::text::bigint AS stamp, seq FROM read ORDER BY read.stamp DESC, read.seq DESC LIMIT 1
)
SELECT (SELECT stamp FROM reached), (SELECT seq FROM reached), (SELECT count(*)::int FROM read),
       l.job_id, l.at, l.to_state, l.attempt
  FROM (VALUES (1)) AS one
  LEFT JOIN LATERAL (
       SELECT l.* FROM latest AS l
         LEFT JOIN LATERAL (SELECT j.meta FROM ojs_job AS j WHERE j.id = l.job_id LIMIT 1)
                AS j ON true
        WHERE j.meta ? 'ojs.federation.federation_id'
              AND NOT j.meta ? 'ojs.federation.replicated_from'
           OR j.meta IS NULL
              AND EXISTS (SELECT FROM ojs_federation_job AS m
                           WHERE m.origin_region = %(region)s::text AND m.job_id = l.job_id)
       ) AS l ON true
