-- adoptable: count the waiting copies of a region by queue and by the reason that keeps a job there
-- (`why`, null: none), among the first `most` by id. The rules are the rules of
-- services/replication/adopt.py.
SELECT w.queue, w.why, count(*)::int AS jobs
  FROM (SELECT m.queue,
               CASE WHEN m.bound_to = 'region' THEN 'pinned'
                    WHEN m.bound_to IS NOT NULL THEN 'followed'
                    WHEN m.payload IS NULL THEN 'without_payload'
                    WHEN m.payload->'meta'->>'ojs.federation.region' IS NOT NULL THEN 'pinned'
                    WHEN NOT m.winner THEN 'superseded' END AS why
          FROM ojs_federation_job AS m
         WHERE m.origin_region = %(region)s::text
           AND m.state IN ('available', 'scheduled', 'retryable', 'pending')
           AND m.adopted_as IS NULL
           AND (%(queue)s::text IS NULL OR m.queue = %(queue)s::text)
         ORDER BY m.origin_region, m.job_id LIMIT %(most)s::int) AS w
 GROUP BY w.queue, w.why
 ORDER BY jobs DESC, w.queue, w.why
