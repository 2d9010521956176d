-- complete: active -> completed for the jobs of a request. Parts, in parts/:
--   `ended`   ack.sql for one ack, as parameters: reading JSON, locking and aggregating cost a quarter
--             of the statement. Otherwise acks.sql.
--   `answer`  one_completed.sql for one ack, otherwise each_completed.sql or all_completed.sql.
-- A given worker_id or attempt must be the holder's. Without has_result there is no result.
-- `result_ttl` of the job: 0, its result is not stored; above, expire_results.sql deletes it in time.
-- `watched` false does not end watched jobs and returns them without a queue: the caller ends them in a
-- transaction with the extension's own work.
-- `heard_ms`: an ACK is a sign of life of the job's worker, see ojs_heard; null: no worker sent it. The
-- claim of a younger lease was stored as a sign lately.
-- Locks: the leases, in id order; then the locks of ojs_release and ojs_heard.
WITH /* ended */
), stored AS (
    UPDATE ojs_job AS j
       SET state = 6, attempt = e.attempt, enqueued_at = e.enqueued_at, started_at = e.started_at,
           finished_at = greatest(now(), e.started_at), ran = true, error = NULL,
           attributes = CASE WHEN j.attributes ? 'last_checkpoint'
                             THEN j.attributes - 'last_checkpoint' ELSE j.attributes END,
           result = CASE WHEN e.has_result AND (j.attributes ->> 'result_ttl') IS DISTINCT FROM '0'
                         THEN coalesce(e.result, 'null') END
      FROM ended AS e WHERE j.id = e.id
    RETURNING j.id, j.queue, j.type, j.tenant, j.attempt, j.finished_at, j.started_at, j.result,
              j.watched, j.enqueued_at, (j.attributes ->> 'result_ttl')::bigint AS result_ttl,
              e.limits, e.worker_id
), listed AS (
    INSERT INTO ojs_finished (queue, kind, finished_at, id)
    SELECT queue, 6, finished_at, id FROM stored
), expiring AS (
    INSERT INTO ojs_result_expiry (id, due_at)
    SELECT id, finished_at + result_ttl * interval '1 second' FROM stored
     WHERE result_ttl > 0 AND result IS NOT NULL
), told AS (
    INSERT INTO ojs_event (at, kind, job_id, queue, type, tenant, from_state, to_state, attempt,
                           took_ms, waited_ms, data)
    SELECT s.finished_at, 4, s.id, s.queue, s.type, s.tenant, 4, 6, s.attempt,
           (extract(epoch FROM s.finished_at - s.started_at) * 1000)::bigint,
           (extract(epoch FROM s.started_at - s.enqueued_at) * 1000)::bigint,
           -- a result with a time to live must not stay here
           CASE WHEN s.result IS NOT NULL AND coalesce(s.result_ttl, -1) < 0
                     AND pg_column_size(s.result) <= 4096
                THEN jsonb_build_object('result', s.result) END
      FROM stored AS s
)
/* answer */
