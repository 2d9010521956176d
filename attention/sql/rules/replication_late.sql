-- replication_late: find enabled regions that lack changes of this region for too long.
SELECT p.region, NULL::text, p.late_since, 0::bigint, 0,
       jsonb_build_object('lag_ms', p.lag_ms, 'error', p.last_error)::text
  FROM ojs_federation_peer AS p
  JOIN ojs_federation_region AS r ON r.id = p.region
 WHERE r.enabled AND p.late_since IS NOT NULL
 ORDER BY p.late_since, p.region LIMIT %(most)s::int
