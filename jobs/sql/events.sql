-- events: public events by filter. After a position: ascending and only what is complete;
-- without one: the latest, newest first. The trace id comes from the job while it exists.
-- queries.events adds the job and the order. No OR about the place or the job: a plan for any
-- parameters could then use neither index.
SELECT e.stamp::text::bigint AS stamp, e.seq, e.at, e.kind, e.job_id, e.queue, e.type, e.tenant,
       e.to_state, e.from_state, e.attempt, e.worker_id, e.took_ms, e.data::text AS data,
       j.meta ->> 'trace_id' AS trace_id, j.meta ->> 'tenant_id' AS tenant_id
  FROM ojs_event AS e LEFT JOIN ojs_job AS j ON j.id = e.job_id
 WHERE (%(kinds)s::int[] IS NULL AND e.kind < 100 OR e.kind = ANY (%(kinds)s::int[]))
   AND (%(queues)s::text[] IS NULL OR e.queue = ANY (%(queues)s::text[]))
   AND (%(types)s::text[] IS NULL OR e.type = ANY (%(types)s::text[]))
   AND (%(tenant)s::text IS NULL OR e.tenant = %(tenant)s::text)
   AND (e.stamp, e.seq) > (coalesce(%(after_stamp)s::text, '0')::xid8,
                           coalesce(%(after_seq)s::bigint, 0))
   AND (%(after_stamp)s::text IS NULL OR e.stamp < pg_snapshot_xmin(pg_current_snapshot()))
