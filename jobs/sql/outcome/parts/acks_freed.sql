-- acks_freed: what the end of several leases frees, and the watched jobs that stay.
       (SELECT ojs_release(array_agg(DISTINCT e.id), array_agg(DISTINCT m))
          FROM ended AS e CROSS JOIN LATERAL unnest(e.limits) AS m) AS freed,
       (SELECT ojs_heard(array_agg(e.worker_id), %(heard_ms)s::bigint) FROM ended AS e
         WHERE e.started_at < now() - %(heard_ms)s::bigint * interval '1 millisecond') AS heard
  FROM stored AS s
 UNION ALL SELECT h.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM held AS h WHERE NOT h.ends
