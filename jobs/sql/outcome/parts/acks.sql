-- acks: several acks, from one JSON array.
ack AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(acks)s::json)
        AS a (id uuid, worker_id text, attempt int, has_result boolean, result jsonb)
), held AS MATERIALIZED (
    SELECT l.id, a.has_result, a.result, %(watched)s::boolean OR NOT l.watched AS ends
      FROM ojs_lease AS l JOIN ack AS a ON a.id = l.id
     WHERE l.id = ANY (ARRAY(SELECT id FROM ack))  -- the planner estimates `ack` at a hundred rows
       AND (a.worker_id IS NULL OR l.worker_id IS NULL OR l.worker_id = a.worker_id)
       AND (a.attempt IS NULL OR l.attempt = a.attempt)
     ORDER BY l.id FOR UPDATE OF l /* unless locked */
), ended AS (
    DELETE FROM ojs_lease AS l USING held AS h WHERE l.id = h.id AND h.ends
    RETURNING l.id, l.worker_id, l.attempt, l.enqueued_at, l.started_at, l.limits, h.has_result,
              h.result
