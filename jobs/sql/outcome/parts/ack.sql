-- ack: the only ack of a request.
ended AS (
    DELETE FROM ojs_lease AS l
     WHERE l.id = %(id)s::uuid AND (%(watched)s::boolean OR NOT l.watched)
       AND (%(worker_id)s::text IS NULL OR l.worker_id IS NULL OR l.worker_id = %(worker_id)s::text)
       AND (%(attempt)s::int IS NULL OR l.attempt = %(attempt)s::int)
    RETURNING l.id, l.worker_id, l.attempt, l.enqueued_at, l.started_at, l.limits,
              %(has_result)s::boolean AS has_result, %(result)s::jsonb AS result
