-- outcomes: count by route what started and ended of some types, up to `batch` events since the last
-- time or the end of their transaction. Events below the oldest running transaction are complete: see
-- models.Event. Each counts once, because the position moves in the same statement.
-- Outcomes from before `judged_from` of the type's rules are left out. `types` without versions.
-- Slots are `slot_s` seconds long. Locks: the position, waited for.
-- A job that is gone by now has no route any more and does not count.
WITH place AS MATERIALIZED (
    SELECT stamp FROM ojs_version_reader WHERE id = 1 FOR UPDATE
), upto AS MATERIALIZED (
    SELECT least(pg_snapshot_xmin(pg_current_snapshot()),
                 coalesce((SELECT (e.stamp::text::bigint + 1)::text::xid8 FROM ojs_event AS e
                            WHERE e.stamp >= (SELECT stamp FROM place)
                            ORDER BY e.stamp, e.seq OFFSET %(batch)s::int - 1 LIMIT 1),
                          pg_snapshot_xmin(pg_current_snapshot()))) AS stamp
), seen AS MATERIALIZED (
    SELECT e.job_id, e.kind, e.at, split_part(e.type, '@', 1) AS type
      FROM ojs_event AS e
     WHERE e.stamp >= (SELECT stamp FROM place) AND e.stamp < (SELECT stamp FROM upto)
       AND e.kind IN (3, 4, 5) AND split_part(e.type, '@', 1) = ANY (%(types)s::text[])
), routed AS MATERIALIZED (
    SELECT k.route, s.kind, s.at, s.type,
           to_timestamp(floor(extract(epoch FROM s.at) / %(slot_s)s::int) * %(slot_s)s::int) AS slot
      FROM seen AS s
     CROSS JOIN LATERAL (SELECT j.lane_id FROM ojs_job AS j WHERE j.id = s.job_id OFFSET 0) AS l
     CROSS JOIN LATERAL (SELECT m.route FROM ojs_lane_key AS m WHERE m.id = l.lane_id OFFSET 0) AS k
     WHERE k.route > 0
), ended AS MATERIALIZED (
    SELECT r.route, r.slot, (count(*) FILTER (WHERE r.kind = 4))::int AS acked,
           (count(*) FILTER (WHERE r.kind = 5))::int AS failed
      FROM routed AS r LEFT JOIN ojs_version_routing AS g ON g.type = r.type
     WHERE r.kind <> 3 AND r.at >= coalesce(g.judged_from, '-infinity')
     GROUP BY r.route, r.slot
), kept AS (
    INSERT INTO ojs_version_outcome AS o (route, at, acked, failed)
    SELECT route, slot, acked, failed FROM ended ORDER BY route, slot
    ON CONFLICT (route, at) DO UPDATE
       SET acked = o.acked + excluded.acked, failed = o.failed + excluded.failed
), started AS (
    INSERT INTO ojs_version_started AS t (route, jobs)
    SELECT route, count(*) FROM routed WHERE kind = 3 GROUP BY route ORDER BY route
    ON CONFLICT (route) DO UPDATE SET jobs = t.jobs + excluded.jobs
), moved AS (
    UPDATE ojs_version_reader SET stamp = greatest(stamp, (SELECT stamp FROM upto)) WHERE id = 1
)
SELECT e.route, sum(e.acked)::int AS acked, sum(e.failed)::int AS failed,
       coalesce((SELECT stamp FROM upto) < pg_snapshot_xmin(pg_current_snapshot()), false) AS has_more
  FROM ended AS e GROUP BY e.route
 UNION ALL
SELECT NULL, 0, 0, coalesce((SELECT stamp FROM upto) < pg_snapshot_xmin(pg_current_snapshot()), false)
