-- name_queues: make deleted queues again that then got a job, from a producer with a cached lane or from
-- the dead letter. Until then no claim reads them. An active lane proves nothing: a lane whose jobs were
-- all cancelled stays active until the next claim.
-- It reads lane keys and jobs of deleted queues alone: claims leave many dead rows of lanes.
SELECT unnest(ojs_make_queues(ARRAY(
       SELECT DISTINCT k.queue
         FROM (SELECT k.id, k.queue FROM ojs_lane_key AS k
                WHERE NOT EXISTS (SELECT 1 FROM ojs_queue AS q WHERE q.name = k.queue)
               OFFSET 0) AS k
        WHERE (SELECT true FROM ojs_lane AS l WHERE l.id = k.id AND l.active LIMIT 1)
          AND (SELECT true FROM ojs_ready AS r WHERE r.lane_id = k.id
                ORDER BY r.lane_id, r.seq LIMIT 1)
       ))) AS name
