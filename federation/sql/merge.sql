-- merge: store the revisions of jobs that are newer than the stored revisions, and update the winner of
-- each federation id. `rows` is a JSON array. Returns a row for each stored revision.
-- A job never changes its tenant or federation id: a row with such a change is left out.
-- Call it after `alone`, so that no other transaction changes the copies that it ranks.
-- Locks: the rows of copies, in the order of their key, then the old and new winners.
WITH given AS MATERIALIZED (
    SELECT DISTINCT ON (r.origin_region, r.job_id) r.*
      FROM json_to_recordset(%(rows)s::json)
        AS r (origin_region text, job_id uuid, tenant text, federation_id uuid, type text,
              queue text, state text, priority smallint, attempt int, created_at timestamptz,
              enqueued_at timestamptz, completed_at timestamptz, revision bigint, bound_to text,
              adopts_region text, adopts_job uuid, payload jsonb, replicated_from text,
              skewed boolean)
     ORDER BY r.origin_region, r.job_id, r.revision DESC
), newer AS MATERIALIZED (
    SELECT g.*, k.revision IS NULL AS is_new
      FROM given AS g
      LEFT JOIN LATERAL (
           SELECT m.revision, m.tenant, m.federation_id FROM ojs_federation_job AS m
            WHERE m.origin_region = g.origin_region AND m.job_id = g.job_id LIMIT 1) AS k ON true
     WHERE k.revision IS NULL
        OR k.revision < g.revision AND k.tenant = g.tenant AND k.federation_id = g.federation_id
), copy AS MATERIALIZED (
    SELECT n.tenant, n.federation_id, n.origin_region, n.job_id, n.enqueued_at, true AS is_given,
           false AS won
      FROM newer AS n
     UNION ALL
    SELECT c.tenant, c.federation_id, m.origin_region, m.job_id, m.enqueued_at, false, m.winner
      FROM (SELECT DISTINCT tenant, federation_id FROM newer) AS c
     CROSS JOIN LATERAL (
           SELECT x.origin_region, x.job_id, x.enqueued_at, x.winner FROM ojs_federation_job AS x
            WHERE x.tenant = c.tenant AND x.federation_id = c.federation_id OFFSET 0) AS m
     WHERE NOT EXISTS (SELECT FROM newer AS n
                        WHERE n.origin_region = m.origin_region AND n.job_id = m.job_id)
), ranked AS MATERIALIZED (
    SELECT c.*, row_number() OVER place = 1 AS wins,
           first_value(c.origin_region) OVER place AS winner_region,
           first_value(c.job_id) OVER place AS winner_job,
           min(c.origin_region) OVER together <> max(c.origin_region) OVER together AS is_contested
      FROM copy AS c
    WINDOW together AS (PARTITION BY c.tenant, c.federation_id),
           -- domain/order.py has the same order
           place AS (PARTITION BY c.tenant, c.federation_id
                     ORDER BY c.enqueued_at DESC, c.origin_region COLLATE "C" DESC, c.job_id DESC)
), stored AS (
    INSERT INTO ojs_federation_job AS m (
           origin_region, job_id, tenant, federation_id, type, queue, state, priority, attempt,
           created_at, enqueued_at, completed_at, revision, bound_to, adopts_region, adopts_job,
           payload, replicated_from, skewed, winner, received_at)
    SELECT n.origin_region, n.job_id, n.tenant, n.federation_id, n.type, n.queue, n.state,
           n.priority, n.attempt, n.created_at, n.enqueued_at, n.completed_at, n.revision,
           n.bound_to, n.adopts_region, n.adopts_job, n.payload, n.replicated_from, n.skewed,
           r.wins, now()
      FROM newer AS n JOIN ranked AS r USING (origin_region, job_id)
     ORDER BY n.origin_region, n.job_id
        ON CONFLICT (origin_region, job_id) DO UPDATE
       SET type = excluded.type, queue = excluded.queue, state = excluded.state,
           priority = excluded.priority, attempt = excluded.attempt,
           created_at = excluded.created_at, enqueued_at = excluded.enqueued_at,
           completed_at = excluded.completed_at, revision = excluded.revision,
           bound_to = excluded.bound_to, adopts_region = excluded.adopts_region,
           adopts_job = excluded.adopts_job, payload = excluded.payload,
           replicated_from = excluded.replicated_from, skewed = excluded.skewed,
           winner = excluded.winner, received_at = excluded.received_at
     WHERE m.revision < excluded.revision
), turned AS MATERIALIZED (
    SELECT origin_region, job_id, wins FROM ranked WHERE NOT is_given AND won <> wins
), flipped AS (
    UPDATE ojs_federation_job AS m SET winner = t.wins
      FROM turned AS t
     WHERE m.origin_region = t.origin_region AND m.job_id = t.job_id
       AND m.origin_region = ANY (ARRAY(SELECT origin_region FROM turned))
       AND m.job_id = ANY (ARRAY(SELECT job_id FROM turned))
)
SELECT n.origin_region, n.job_id, n.tenant, n.federation_id, n.type, n.queue,
       n.is_new AND r.is_contested AS is_conflict, r.winner_region, r.winner_job
  FROM newer AS n JOIN ranked AS r USING (origin_region, job_id)
