-- outcomes: count by version key the started and ended attempts of some types since the last call.
-- It reads up to `batch` events, and the rest of the last event's transaction. Events below the oldest
-- running transaction are complete: see models.Event. Each event counts once, because the position
-- moves in the same statement. Outcomes from before `judged_from` of the type's rules are left out.
-- `types` are names without versions. Slots are `slot_s` seconds long. A deleted job has no version
-- key any more and does not count. For types with rules it stores the run times of acknowledged
-- attempts, by minute and by bucket as in jobs/domain/record/latency.py. For the version keys
-- `tried` it stores the last `touched` jobs whose attempts failed, and as many whose attempts were
-- acknowledged.
-- Locks: the position, waited for.
WITH place AS MATERIALIZED (
    SELECT stamp FROM ojs_version_reader WHERE id = 1 FOR UPDATE
), upto AS MATERIALIZED (
    SELECT least(pg_snapshot_xmin(pg_current_snapshot()),
                 coalesce((SELECT (e.stamp::text::bigint + 1)::text::xid8 FROM ojs_event AS e
                            WHERE e.stamp >= (SELECT stamp FROM place)
                            ORDER BY e.stamp, e.seq OFFSET %(batch)s::int - 1 LIMIT 1),
                          pg_snapshot_xmin(pg_current_snapshot()))) AS stamp
), seen AS MATERIALIZED (
    SELECT e.job_id, e.kind, e.at, e.took_ms, split_part(e.type, '@', 1) AS type
      FROM ojs_event AS e
     WHERE e.stamp >= (SELECT stamp FROM place) AND e.stamp < (SELECT stamp FROM upto)
       AND e.kind IN (3, 4, 5) AND split_part(e.type, '@', 1) = ANY (%(types)s::text[])
), routed AS MATERIALIZED (
    SELECT k.route, s.job_id, s.kind, s.at, s.took_ms, s.type,
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
), ran AS (
    INSERT INTO ojs_version_run AS u (route, at, bucket, jobs)
    SELECT r.route, date_trunc('minute', r.at), ceil(ln(greatest(r.took_ms, 1)) / ln(1.2::float8)),
           count(*)
      FROM routed AS r JOIN ojs_version_routing AS g ON g.type = r.type
     WHERE r.kind = 4 AND r.took_ms IS NOT NULL AND r.at >= g.judged_from
     GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (route, at, bucket) DO UPDATE SET jobs = u.jobs + excluded.jobs
), touched AS (
    INSERT INTO ojs_version_touched AS h (route, job_id, at, has_failed)
    SELECT l.route, l.job_id, l.at, l.kind = 5
      FROM (SELECT d.*, row_number() OVER (PARTITION BY d.route, d.kind ORDER BY d.at DESC) AS n
              FROM (SELECT DISTINCT ON (r.route, r.job_id) r.route, r.job_id, r.at, r.kind
                      FROM routed AS r
                     WHERE r.kind <> 3 AND r.route = ANY (%(tried)s::int[])
                     ORDER BY r.route, r.job_id, r.at DESC) AS d) AS l
     WHERE l.n <= %(touched)s::int
     ORDER BY l.route, l.job_id
    ON CONFLICT (route, job_id) DO UPDATE
       SET at = greatest(h.at, excluded.at),
           has_failed = CASE WHEN excluded.at >= h.at THEN excluded.has_failed ELSE h.has_failed END
), moved AS (
    UPDATE ojs_version_reader SET stamp = greatest(stamp, (SELECT stamp FROM upto)) WHERE id = 1
)
SELECT e.route, sum(e.acked)::int AS acked, sum(e.failed)::int AS failed,
       coalesce((SELECT stamp FROM upto) < pg_snapshot_xmin(pg_current_snapshot()), false) AS has_more
  FROM ended AS e GROUP BY e.route
 UNION ALL
SELECT NULL, 0, 0, coalesce((SELECT stamp FROM upto) < pg_snapshot_xmin(pg_current_snapshot()), false)
