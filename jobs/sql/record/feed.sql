-- feed: the next events of the live streams: events from a stamp on that were not streamed yet (`sent`
-- has the seqs of streamed events), and the oldest running transaction as `horizon`.
-- An event behind the horizon has its final position. A later event is streamed once it is `patience_ms`
-- old; otherwise one long transaction would hold up every stream.
-- `jobs` and `queues` null: all. Columns as in sql/record/events.sql.
SELECT h.horizon, x.*
  FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon) AS h
  LEFT JOIN LATERAL (
       SELECT e.stamp::text::bigint AS stamp, e.seq, k.part, e.at, k.kind, e.job_id, e.queue,
              e.type, e.tenant, e.to_state, e.from_state, e.attempt, e.worker_id, e.took_ms,
              e.data::text AS data, j.meta ->> 'trace_id' AS trace_id,
              j.meta ->> 'tenant_id' AS tenant_id,
              e.stamp < h.horizon::text::xid8 AS is_below_horizon,
              encode(u.fingerprint, 'hex') AS unique_key
         FROM (SELECT * FROM ojs_event AS y
                WHERE y.stamp >= %(stamp)s::text::xid8 AND y.seq <> ALL (%(sent)s::bigint[])
                  AND (y.stamp < h.horizon::text::xid8
                       OR y.at < clock_timestamp()
                                 - %(patience_ms)s::int * interval '1 millisecond')
                  AND (%(jobs)s::uuid[] IS NULL OR y.job_id = ANY (%(jobs)s::uuid[])
                       OR y.queue = ANY (%(queues)s::text[]))
                ORDER BY y.stamp, y.seq LIMIT %(limit)s::int) AS e
        CROSS JOIN LATERAL (
              SELECT 12 AS kind, 0 AS part
               WHERE e.kind = 7 AND e.attempt >= (e.data ->> 'max_attempts')::int
              UNION ALL SELECT e.kind, 1
              UNION ALL SELECT 13, 2 WHERE e.kind = 7 AND (e.data ->> 'dead_letter')::boolean
              ) AS k
         LEFT JOIN ojs_job AS j ON j.id = e.job_id
         LEFT JOIN LATERAL (SELECT n.fingerprint FROM ojs_unique AS n
                             WHERE n.job_id = e.job_id AND e.kind = 1 LIMIT 1) AS u ON true
        ORDER BY e.stamp, e.seq, k.part
       ) AS x ON true
