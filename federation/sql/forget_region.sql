-- forget_region: remove the next copies of jobs of a region, at most `batch` in the order of their ids.
-- The best remaining copy of each federation id becomes the winner. Returns how many were removed.
-- Call it after `alone`, so that no other transaction changes the copies that it ranks.
-- Locks: the removed copies, then the new winners.
WITH gone AS MATERIALIZED (
    SELECT m.origin_region, m.job_id, m.tenant, m.federation_id, m.winner
      FROM ojs_federation_job AS m
     WHERE m.origin_region = %(region)s::text
     ORDER BY m.origin_region, m.job_id LIMIT %(batch)s::int
       FOR UPDATE
), deleted AS (
    DELETE FROM ojs_federation_job AS m
     USING gone AS g
     WHERE m.origin_region = %(region)s::text AND m.job_id = g.job_id
       AND m.job_id = ANY (ARRAY(SELECT job_id FROM gone))
    RETURNING m.job_id
), heir AS MATERIALIZED (
    SELECT h.origin_region, h.job_id
      FROM (SELECT DISTINCT tenant, federation_id FROM gone WHERE winner) AS c
     CROSS JOIN LATERAL (
           SELECT x.origin_region, x.job_id FROM ojs_federation_job AS x
            WHERE x.tenant = c.tenant AND x.federation_id = c.federation_id
              AND NOT (x.origin_region = %(region)s::text
                       AND x.job_id = ANY (ARRAY(SELECT job_id FROM gone)))
            -- domain/order.py has the same order
            ORDER BY x.enqueued_at DESC, x.origin_region COLLATE "C" DESC, x.job_id DESC
            LIMIT 1) AS h
), crowned AS (
    UPDATE ojs_federation_job AS m SET winner = true
      FROM heir AS h
     WHERE m.origin_region = h.origin_region AND m.job_id = h.job_id
       AND m.origin_region = ANY (ARRAY(SELECT origin_region FROM heir))
       AND m.job_id = ANY (ARRAY(SELECT job_id FROM heir))
)
SELECT count(*)::int FROM deleted
