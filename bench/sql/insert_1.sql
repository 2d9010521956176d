-- The limit of enqueueing: the wide row alone, without the narrow row, the event and the lane.
INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, watched, args, meta, attributes,
                     max_attempts, timeout_ms, created_at, state, attempt)
VALUES (uuidv7(), '{type}', 'bench-bare', '_default', 1, 0, false, '{args}', '{meta}',
        '{attributes}', 3, 1800000, now(), 6, 0);
