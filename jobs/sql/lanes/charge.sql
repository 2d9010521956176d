-- charge: charge lanes for ended attempts by their run time. The charge is the amount that the claim
-- added to the virtual time of the lane, times (duration / mean duration - 1). It covers the queues of
-- ojs_charge. A run takes whole transactions, up to and with the transaction that holds event number
-- `batch` since the last run.
-- Events below the oldest running transaction are complete: see models.Event. Each is charged once, even
-- after a crash, because the position moves in the same statement.
-- The mean covers about the last `memory` attempts of the queue, including this batch. Durations are
-- rounded to whole milliseconds, and half a millisecond is added: jobs of duration 0 cost 1 each.
-- A job that was removed or moved meanwhile is charged to its tenant's first lane of the queue.
-- Locks: the positions, by queue, waited for; then lanes, in id order, waited for. A claim skips locked
-- lanes and never waits for one while it holds another.
WITH place AS MATERIALIZED (
    SELECT queue, stamp, jobs, mean_ms FROM ojs_charge ORDER BY queue FOR UPDATE
), upto AS MATERIALIZED (
    SELECT least(pg_snapshot_xmin(pg_current_snapshot()),
                 coalesce((SELECT (e.stamp::text::bigint + 1)::text::xid8 FROM ojs_event AS e
                            WHERE e.stamp >= (SELECT min(stamp) FROM place)
                            ORDER BY e.stamp, e.seq OFFSET %(batch)s::int - 1 LIMIT 1),
                          pg_snapshot_xmin(pg_current_snapshot()))) AS stamp
), ended AS MATERIALIZED (
    SELECT e.job_id, e.queue, e.tenant, e.took_ms + 0.5 AS ms
      FROM ojs_event AS e JOIN place AS p ON p.queue = e.queue AND e.stamp >= p.stamp
     WHERE e.stamp >= (SELECT min(stamp) FROM place) AND e.stamp < (SELECT stamp FROM upto)
       AND e.kind IN (4, 5) AND e.took_ms IS NOT NULL
), mean AS MATERIALIZED (
    SELECT p.queue, least(p.jobs, %(memory)s::int) + count(e.ms) AS jobs,
           (least(p.jobs, %(memory)s::int) * p.mean_ms + coalesce(sum(e.ms), 0))
           / greatest(least(p.jobs, %(memory)s::int) + count(e.ms), 1) AS ms
      FROM place AS p LEFT JOIN ended AS e ON e.queue = p.queue
     GROUP BY p.queue, p.jobs, p.mean_ms
), owed AS MATERIALIZED (
    SELECT w.lane, sum(e.ms / m.ms - 1) AS jobs
      FROM ended AS e JOIN mean AS m ON m.queue = e.queue
     CROSS JOIN LATERAL (
           SELECT coalesce(
               (SELECT k.id FROM ojs_job AS j JOIN ojs_lane_key AS k ON k.id = j.lane_id
                 WHERE j.id = e.job_id AND k.queue = e.queue LIMIT 1),
               (SELECT k.id FROM ojs_lane_key AS k WHERE k.tenant = e.tenant AND k.queue = e.queue
                 ORDER BY k.tenant, k.queue, k.priority, k.route, k.limits LIMIT 1)) AS lane) AS w
     GROUP BY w.lane
), held AS MATERIALIZED (
    SELECT l.id FROM ojs_lane AS l
     WHERE l.id = ANY (ARRAY(SELECT lane FROM owed)) AND l.timed
     ORDER BY l.id FOR NO KEY UPDATE
), charged AS (
    UPDATE ojs_lane AS l SET vt = l.vt + o.jobs / l.weight
      FROM owed AS o
     WHERE l.id = o.lane AND l.id = ANY (ARRAY(SELECT id FROM held))
), moved AS (
    UPDATE ojs_charge AS c
       SET stamp = greatest(c.stamp, (SELECT stamp FROM upto)), jobs = m.jobs, mean_ms = m.ms
      FROM mean AS m WHERE c.queue = m.queue
)
SELECT count(*)::int AS attempts,
       coalesce((SELECT stamp FROM upto) < pg_snapshot_xmin(pg_current_snapshot()), false) AS has_more
  FROM ended
