-- name_queues: make queues again that were deleted and then got a job: by a producer that knew its
-- lane, or back from the dead letter. Until then no claim looks there. A lane whose jobs were all
-- cancelled is active until a claim comes by, and proves nothing.
SELECT unnest(ojs_make_queues(ARRAY(
       SELECT DISTINCT ojs_queue_of(l.queue) FROM ojs_lane AS l
        WHERE l.active
          AND NOT EXISTS (SELECT 1 FROM ojs_queue AS q WHERE q.name = ojs_queue_of(l.queue))
          AND (SELECT true FROM ojs_ready AS r WHERE r.lane_id = l.id
                ORDER BY r.lane_id, r.seq LIMIT 1)
       ))) AS name
