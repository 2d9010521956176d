-- name_queues: make queues again that were deleted and then got a job: by a producer that knew its
-- lane, or back from the dead letter. Until then no claim looks there. A lane whose jobs were all
-- cancelled is active until a claim comes by, and proves nothing.
-- Keys are read, not lanes, and jobs of nameless queues alone: of both a claim leaves dead rows behind.
SELECT unnest(ojs_make_queues(ARRAY(
       SELECT DISTINCT k.queue
         FROM (SELECT k.id, k.queue FROM ojs_lane_key AS k
                WHERE NOT EXISTS (SELECT 1 FROM ojs_queue AS q WHERE q.name = k.queue)
               OFFSET 0) AS k
        WHERE (SELECT true FROM ojs_lane AS l WHERE l.id = k.id AND l.active LIMIT 1)
          AND (SELECT true FROM ojs_ready AS r WHERE r.lane_id = k.id
                ORDER BY r.lane_id, r.seq LIMIT 1)
       ))) AS name
