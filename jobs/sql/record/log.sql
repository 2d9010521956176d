-- log: the events for log lines: the events behind a position, at most `batch`, of `kinds` alone; with
-- the position of the last that was read, which is null if none was.
-- Events below the oldest running transaction are complete: see models.Event. Of `thinned` kinds only
-- the jobs are read whose draw, which follows from the id, is below `sample`.
-- Arguments and results are not read; of `data` the caller uses the members of its table.
WITH read AS MATERIALIZED (
    SELECT e.* FROM ojs_event AS e
     WHERE (e.stamp, e.seq) > (%(stamp)s::text::xid8, %(seq)s::bigint)
       AND e.stamp < pg_snapshot_xmin(pg_current_snapshot())
     ORDER BY e.stamp, e.seq LIMIT %(batch)s::int
), reached AS (
    SELECT r.stamp::text AS stamp, r.seq, (SELECT count(*)::int FROM read) AS events
      FROM read AS r ORDER BY r.stamp DESC, r.seq DESC LIMIT 1
)
SELECT d.stamp, d.seq, d.events, e.at, e.kind, e.job_id, e.type, e.queue, e.tenant, e.attempt,
       e.to_state, e.worker_id, e.pool, e.took_ms, e.waited_ms,
       (e.data - 'result')::text AS data, e.request_id, e.traceparent
  FROM reached AS d
  LEFT JOIN LATERAL (
       SELECT r.*, j.request_id, j.meta ->> 'traceparent' AS traceparent
         FROM read AS r LEFT JOIN ojs_job AS j ON j.id = r.job_id
        WHERE r.kind = ANY (%(kinds)s::int[])
          AND (r.kind <> 100 OR r.data ? 'error')  -- attempts that were lost, no promotions
          AND (r.kind <> ALL (%(thinned)s::int[])
               OR (uuid_hash_extended(r.job_id, 0) & 2147483647) < %(sample)s::float8 * 2147483648)
       ) AS e ON true
 ORDER BY e.stamp, e.seq
