-- requeue: active -> available without a failure: the claim is given back and not counted. The next
-- attempt has the same number, so the report of this attempt is deleted; its checkpoint stays with the
-- job. The job keeps its position in its lane: see ADR 25.
-- `heard_ms`: the request came from its worker, a sign of life (see ojs_heard); null: it did not.
-- Locks: the leases, in id order; then the locks of ojs_give_back and ojs_heard.
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(jobs)s::json) AS g (id uuid, worker_id text, attempt int)
), held AS MATERIALIZED (
    SELECT l.id FROM ojs_lease AS l JOIN given AS g ON g.id = l.id
     WHERE l.id = ANY (ARRAY(SELECT id FROM given))  -- the planner estimates a hundred rows
       AND (g.worker_id IS NULL OR l.worker_id IS NULL OR l.worker_id = g.worker_id)
       AND (g.attempt IS NULL OR l.attempt = g.attempt)
     ORDER BY l.id FOR UPDATE OF l
), ended AS (
    DELETE FROM ojs_lease AS l USING held AS h WHERE l.id = h.id
    RETURNING l.*, (SELECT p.checkpoint FROM ojs_progress AS p
                     WHERE p.job_id = l.id AND p.attempt = l.attempt) AS checkpoint
), stored AS (
    UPDATE ojs_job AS j
       SET attempt = e.attempt - 1, enqueued_at = now(), started_at = NULL,
           attributes = CASE WHEN e.checkpoint IS NULL THEN j.attributes ELSE
               j.attributes || jsonb_build_object('last_checkpoint', e.checkpoint) END
      FROM ended AS e WHERE j.id = e.id
    RETURNING j.id, j.queue, j.type, j.tenant, e.lane_id, e.seq, e.worker_id, j.attempt, j.max_attempts,
              j.expires_at, j.bytes
), again AS (
    INSERT INTO ojs_ready (id, lane_id, seq, attempt, enqueued_at, expires_at)
    SELECT id, lane_id, coalesce(seq, nextval(pg_get_serial_sequence('ojs_ready', 'seq'))), attempt,
           now(), expires_at
      FROM stored ORDER BY id
), forgotten AS (
    DELETE FROM ojs_progress AS p USING ended AS e WHERE p.job_id = e.id AND p.history IS NULL
), emptied AS (
    UPDATE ojs_progress AS p
       SET attempt = 0, progress = NULL, message = NULL, data = NULL, checkpoint = NULL,
           is_watched = false, stalled_at = NULL
      FROM ended AS e WHERE p.job_id = e.id AND p.history IS NOT NULL
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                           bytes, worker_id)
    SELECT now(), 100, id, queue, type, tenant, 4, 3, attempt, bytes, worker_id FROM stored
)
SELECT s.id, s.attempt, s.max_attempts,
       (SELECT ojs_give_back(
                   array_agg(e.id),
                   ARRAY(SELECT DISTINCT m FROM ended AS x CROSS JOIN LATERAL unnest(x.limits) AS m),
                   array_agg(e.lane_id), array_agg(e.seq)) FROM ended AS e) AS returned,
       (SELECT ojs_heard(array_agg(e.worker_id), %(heard_ms)s::bigint) FROM ended AS e
         WHERE e.started_at < now() - %(heard_ms)s::bigint * interval '1 millisecond') AS heard
  FROM stored AS s
