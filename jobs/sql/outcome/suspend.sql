-- suspend: active -> scheduled without a failure, because the job waits for a time or a signal. The
-- attempt is not counted: the next one has the same number, and keeps its progress. `until` is at
-- least now.
-- `started_at` is the start of the attempt, as a FETCH returned it, to the millisecond; null: not
-- compared. The attempt that continues has the same number, so only its start tells a repeated request
-- from one of the present attempt.
-- `heard_ms`: the request came from its worker, a sign of life (see ojs_heard); null: it did not.
-- Locks: the lease; then the locks of ojs_give_back and ojs_heard.
WITH held AS MATERIALIZED (
    SELECT l.id FROM ojs_lease AS l
     WHERE l.id = %(id)s::uuid
       AND (%(worker_id)s::text IS NULL OR l.worker_id IS NULL OR l.worker_id = %(worker_id)s::text)
       AND (%(attempt)s::int IS NULL OR l.attempt = %(attempt)s::int)
       AND (%(started_at)s::timestamptz IS NULL
            OR date_trunc('milliseconds', l.started_at)
               = date_trunc('milliseconds', %(started_at)s::timestamptz))
       FOR UPDATE
), ended AS (
    DELETE FROM ojs_lease AS l USING held AS h WHERE l.id = h.id
    RETURNING l.id, l.lane_id, l.seq, l.limits, l.attempt, l.enqueued_at, l.worker_id,
              l.started_at
), stored AS (
    UPDATE ojs_job AS j
       SET attempt = e.attempt - 1, enqueued_at = e.enqueued_at, started_at = NULL,
           scheduled_at = greatest(%(until)s::timestamptz, now())
      FROM ended AS e WHERE j.id = e.id
    RETURNING j.id, j.queue, j.type, j.tenant, e.lane_id, e.worker_id, j.attempt, j.scheduled_at,
              j.expires_at, j.bytes
), waiting AS (
    INSERT INTO ojs_later (id, kind, due_at, lane_id, attempt, expires_at)
    SELECT id, 1, scheduled_at, lane_id, attempt, expires_at FROM stored
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                           bytes, worker_id, data)
    SELECT now(), 2, id, queue, type, tenant, 4, 1, attempt, bytes, worker_id,
           jsonb_build_object('scheduled_at', ojs_time(scheduled_at), 'step', %(step)s::text)
           || CASE WHEN %(signals)s::text[] = '{}' THEN '{}'
                   ELSE jsonb_build_object('signals', to_jsonb(%(signals)s::text[])) END
      FROM stored
)
SELECT s.id,
       (SELECT ojs_give_back(array_agg(e.id),
                   ARRAY(SELECT DISTINCT m FROM ended AS x CROSS JOIN LATERAL unnest(x.limits) AS m),
                   '{}', '{}') FROM ended AS e) AS returned,
       (SELECT ojs_heard(array_agg(e.worker_id), %(heard_ms)s::bigint) FROM ended AS e
         WHERE e.started_at < now() - %(heard_ms)s::bigint * interval '1 millisecond') AS heard
  FROM stored AS s
