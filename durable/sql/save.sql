-- save: store the checkpoint of a job. An active job: a given `worker_id` or `attempt` must be the
-- lease's. A waiting job: only with `seeds`. `tenant` null: of any tenant. The first save marks the
-- job, so that a claim returns the state, and its end deletes it; see Job.is_checkpointed. `taken`:
-- signals that the state now contains. An event at most once a second.
-- The save of a worker is a sign of life, see ojs_heard; with `extends` it extends the lease as a
-- heartbeat does.
-- Locks: the lease, or the row of the waiting job; the checkpoint; then the locks of ojs_heard.
WITH lease AS MATERIALIZED (
    SELECT l.id, l.attempt, l.worker_id,
           %(extends)s::boolean AND l.lease_until < now() + l.lease_ms * 2 / 3
                                    * interval '1 millisecond' AS is_short
      FROM ojs_lease AS l
     WHERE l.id = %(id)s::uuid
       AND (%(worker_id)s::text IS NULL OR l.worker_id IS NULL OR l.worker_id = %(worker_id)s::text)
       AND (%(attempt)s::int IS NULL OR l.attempt = %(attempt)s::int)
       FOR NO KEY UPDATE
), waiting AS MATERIALIZED (
    SELECT j.id FROM ojs_job AS j
     WHERE %(seeds)s::boolean AND j.id = %(id)s::uuid AND j.state IS NULL
       AND NOT EXISTS (SELECT 1 FROM ojs_lease AS l WHERE l.id = %(id)s::uuid)
       FOR NO KEY UPDATE
), held AS MATERIALIZED (
    SELECT l.id, l.attempt, l.worker_id, l.is_short FROM lease AS l
     UNION ALL
    SELECT w.id, NULL, NULL, false FROM waiting AS w
), job AS MATERIALIZED (
    SELECT h.*, j.queue, j.type, j.tenant, j.watched
      FROM held AS h JOIN ojs_job AS j ON j.id = h.id
     WHERE %(tenant)s::text IS NULL OR j.tenant = %(tenant)s::text
), stored AS (
    INSERT INTO ojs_checkpoint AS c (job_id, state, bytes, sequence, created_at, told_at, is_alone)
    SELECT id, %(state)s::text, octet_length(%(state)s::text), 1, now(), now(), NOT watched FROM job
    ON CONFLICT (job_id) DO UPDATE
       SET state = excluded.state, bytes = excluded.bytes, sequence = c.sequence + 1,
           created_at = now(),
           told_at = CASE WHEN c.told_at > now() - interval '1 second' THEN c.told_at
                          ELSE now() END
    RETURNING c.job_id, c.sequence, c.created_at, c.bytes, c.told_at = now() AS is_told
), marked AS (
    UPDATE ojs_job AS j
       SET watched = true, attributes = j.attributes || '{"last_checkpoint": null}'
      FROM stored AS s WHERE j.id = s.job_id AND s.sequence = 1
), extended AS (
    UPDATE ojs_lease AS l
       SET watched = true,
           lease_until = CASE WHEN h.is_short THEN now() + l.lease_ms * interval '1 millisecond'
                              ELSE l.lease_until END
      FROM stored AS s JOIN lease AS h ON h.id = s.job_id
     WHERE l.id = s.job_id AND (s.sequence = 1 OR h.is_short)
), taken AS (
    DELETE FROM ojs_signal AS g USING stored AS s
     WHERE g.job_id = s.job_id AND g.id = ANY (%(taken)s::bigint[])
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, attempt, worker_id, data)
    SELECT now(), 14, j.id, j.queue, j.type, j.tenant, j.attempt, j.worker_id,
           jsonb_build_object('sequence', s.sequence, 'bytes', s.bytes)
      FROM stored AS s JOIN job AS j ON j.id = s.job_id WHERE s.is_told
)
SELECT s.sequence, s.created_at, j.queue, j.type,
       ojs_heard(ARRAY[j.worker_id], %(heard_ms)s::bigint) AS heard
  FROM stored AS s JOIN job AS j ON j.id = s.job_id
