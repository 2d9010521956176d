-- size_drifts: the drift of ojs_queue_size in bytes of waiting jobs, as in drifts.sql.
-- The size is in the wide row, which is found by its key: where `most` jobs wait or more, no row is read
-- and no drift returned; null: any number.
-- Locks: none.
WITH waiting AS MATERIALIZED (
    SELECT w.id, w.lane_id
      FROM (SELECT r.id, r.lane_id FROM ojs_ready AS r
            UNION ALL
            SELECT w.id, w.lane_id FROM ojs_later AS w) AS w
     LIMIT %(most)s::bigint
), sized AS MATERIALIZED (
    SELECT w.lane_id, sum(j.bytes) AS bytes
      FROM waiting AS w
     CROSS JOIN LATERAL (SELECT j.bytes FROM ojs_job AS j WHERE j.id = w.id OFFSET 0) AS j
     WHERE coalesce((SELECT count(*) FROM waiting) < %(most)s::bigint, true)
     GROUP BY 1
)
SELECT c.queue, sum(c.bytes)::bigint AS excess FROM (
    SELECT d.queue, d.bytes FROM ojs_queue_size AS d
    UNION ALL
    SELECT k.queue, -s.bytes
      FROM sized AS s
     CROSS JOIN LATERAL (SELECT k.queue FROM ojs_lane_key AS k WHERE k.id = s.lane_id OFFSET 0) AS k
    UNION ALL
    SELECT e.queue, e.bytes FROM ojs_event AS e
     WHERE e.stamp >= coalesce((SELECT p.stamp FROM ojs_fold_position AS p WHERE p.id = 1), '0')
       AND e.stamp <= '18446744073709551615'  -- a range: see depths.sql
       AND e.bytes IS NOT NULL AND (e.job_id IS NOT NULL OR e.from_state IS NOT NULL)
) AS c
 WHERE coalesce((SELECT count(*) FROM waiting) < %(most)s::bigint, true)
 GROUP BY 1 HAVING sum(c.bytes) <> 0
 ORDER BY 1
