-- why_example: an available job that stands for those of queues, of a tenant or of a type: the job that
-- waits longest in lanes that claims may take, else in the other lanes. Reads at most
-- `lanes` lanes and `looked` jobs of each.
WITH lane AS MATERIALIZED (
    SELECT l.id, l.low, l.paused OR l.blocked_by IS NOT NULL AS is_held
      FROM ojs_lane AS l
     WHERE l.active
       AND (%(queues)s::text[] IS NULL OR ojs_queue_of(l.queue) = ANY (%(queues)s::text[]))
       AND (%(tenant)s::text IS NULL
            OR l.id IN (SELECT k.id FROM ojs_lane_key AS k WHERE k.tenant = %(tenant)s::text))
     LIMIT %(lanes)s::int
), job AS (
    SELECT l.is_held, r.id, r.enqueued_at
      FROM lane AS l
     CROSS JOIN LATERAL (SELECT x.id, x.enqueued_at FROM ojs_ready AS x
                          WHERE x.lane_id = l.id AND x.seq >= l.low - 128
                          ORDER BY x.lane_id, x.seq LIMIT %(looked)s::int) AS r
     WHERE %(type)s::text IS NULL
        OR (SELECT j.type FROM ojs_job AS j WHERE j.id = r.id LIMIT 1) = %(type)s::text
)
SELECT id::text FROM job ORDER BY is_held, enqueued_at, id LIMIT 1
