-- region_down: find enabled regions that are unhealthy while their circuit breaker is closed.
SELECT h.region_id, NULL::text, h.status_at, coalesce(l.available, 0)::bigint, 0,
       jsonb_build_object('error', h.last_error)::text
  FROM ojs_federation_health AS h
  JOIN ojs_federation_region AS r ON r.id = h.region_id
  LEFT JOIN ojs_federation_load AS l ON l.region_id = h.region_id
 WHERE r.enabled AND h.status = 'unhealthy' AND h.breaker = 'closed'
 ORDER BY h.status_at, h.region_id LIMIT %(most)s::int
