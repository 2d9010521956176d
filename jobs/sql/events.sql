-- events: public events by filter. After a position: ascending and only what is complete;
-- without one: the latest, newest first. The trace id comes from the job while it exists.
SELECT e.stamp::text::bigint AS stamp, e.seq, e.at, e.kind, e.job_id, e.queue, e.type, e.tenant,
       e.to_state, e.from_state, e.attempt, e.worker_id, e.took_ms, e.data::text AS data,
       j.meta ->> 'trace_id' AS trace_id, j.meta ->> 'tenant_id' AS tenant_id
  FROM ojs_event AS e LEFT JOIN ojs_job AS j ON j.id = e.job_id
 WHERE (%(kinds)s::int[] IS NULL AND e.kind < 100 OR e.kind = ANY (%(kinds)s::int[]))
   AND (%(queues)s::text[] IS NULL OR e.queue = ANY (%(queues)s::text[]))
   AND (%(types)s::text[] IS NULL OR e.type = ANY (%(types)s::text[]))
   AND (%(job_id)s::uuid IS NULL OR e.job_id = %(job_id)s::uuid)
   AND (%(tenant)s::text IS NULL OR e.tenant = %(tenant)s::text)
   AND (%(after_stamp)s::text IS NULL
        OR (e.stamp, e.seq) > (%(after_stamp)s::text::xid8, %(after_seq)s::bigint)
           AND e.stamp < pg_snapshot_xmin(pg_current_snapshot()))
