-- runs: a page of the record, newest first, before (stamp, seq) and not before `since`. It has starts of
-- jobs (`starts`, with the wait in `took_ms` and the lane of the job while it exists) and ends of runs
-- (`ends`). Other rows are returned, too, since the next page begins behind the last.
SELECT e.stamp::text AS stamp, e.seq, e.at, coalesce(e.to_state = 4, false) AS starts,
       coalesce(e.from_state = 4, false) AS ends, e.job_id::text AS job_id, e.queue, e.tenant,
       e.took_ms, e.worker_id, j.lane_id
  FROM (SELECT * FROM ojs_event AS y
         WHERE y.stamp >= %(since)s::text::xid8
           AND (y.stamp, y.seq) < (%(stamp)s::text::xid8, %(seq)s::bigint)
         ORDER BY y.stamp DESC, y.seq DESC LIMIT %(limit)s::int) AS e
  LEFT JOIN LATERAL (SELECT w.lane_id FROM ojs_job AS w
                      WHERE w.id = e.job_id AND e.to_state = 4 LIMIT 1) AS j ON true
 ORDER BY e.stamp DESC, e.seq DESC
