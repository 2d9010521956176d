-- events: public events by filter; queries.events puts its conditions and orders at the marks: a plan
-- for all parameters could not use an index behind an OR.
-- A final failure is stored once, as job.discarded, and read as up to three events, its parts: 12
-- retry_exhausted, 7 discarded, 13 dead_lettered. `is_below_horizon` states that no event can appear
-- before it any more. The trace id comes from the job while it exists.
-- The events are found first, in the order of their index and only as many as needed: no index has the
-- parts, so an order by parts may sort the whole record. It reads one event more than needed, since no
-- part of the event at the start position may be left.
SELECT e.stamp::text::bigint AS stamp, e.seq, k.part, e.at, k.kind, e.job_id, e.queue, e.type,
       e.tenant, e.to_state, e.from_state, e.attempt, e.worker_id, e.took_ms, e.data::text AS data,
       j.meta ->> 'trace_id' AS trace_id, j.meta ->> 'tenant_id' AS tenant_id,
       e.stamp < pg_snapshot_xmin(pg_current_snapshot()) AS is_below_horizon,
       encode(u.fingerprint, 'hex') AS unique_key
  FROM (SELECT * FROM ojs_event AS e
         WHERE (e.kind = ANY (%(kinds)s::int[])
                OR e.kind = 7 AND 12 = ANY (%(kinds)s::int[])
                   AND e.attempt >= (e.data ->> 'max_attempts')::int
                OR e.kind = 7 AND 13 = ANY (%(kinds)s::int[]) AND (e.data ->> 'dead_letter')::boolean)
           AND (%(queues)s::text[] IS NULL OR e.queue = ANY (%(queues)s::text[]))
           AND (%(types)s::text[] IS NULL OR e.type = ANY (%(types)s::text[]))
           AND (%(tenant)s::text IS NULL OR e.tenant = %(tenant)s::text)
           AND (%(since)s::timestamptz IS NULL OR e.at >= %(since)s::timestamptz)
           AND (%(until)s::timestamptz IS NULL OR e.at < %(until)s::timestamptz)
           AND e.stamp >= coalesce(%(after_stamp)s::text, '0')::xid8
           /* conditions */
         ORDER BY /* order */
         LIMIT %(limit)s::int + %(offset)s::int + 1) AS e
 CROSS JOIN LATERAL (
       SELECT 12 AS kind, 0 AS part
        WHERE e.kind = 7 AND e.attempt >= (e.data ->> 'max_attempts')::int
       UNION ALL SELECT e.kind, 1
       UNION ALL SELECT 13, 2 WHERE e.kind = 7 AND (e.data ->> 'dead_letter')::boolean
       ) AS k
  LEFT JOIN ojs_job AS j ON j.id = e.job_id
  LEFT JOIN LATERAL (SELECT n.fingerprint FROM ojs_unique AS n
                      WHERE n.job_id = e.job_id AND e.kind = 1 LIMIT 1) AS u ON true
 WHERE k.kind = ANY (%(kinds)s::int[])
       /* place */
 ORDER BY /* order of parts */
 LIMIT %(limit)s::int OFFSET %(offset)s::int
