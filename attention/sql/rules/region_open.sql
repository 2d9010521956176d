-- region_open: find enabled regions whose circuit breaker is not closed.
SELECT h.region_id, NULL::text, h.tripped_at, coalesce(l.available, 0)::bigint, 0,
       jsonb_build_object('error', h.last_error, 'is_forced', h.is_forced)::text
  FROM ojs_federation_health AS h
  JOIN ojs_federation_region AS r ON r.id = h.region_id
  LEFT JOIN ojs_federation_load AS l ON l.region_id = h.region_id
 WHERE r.enabled AND h.breaker <> 'closed'
 ORDER BY h.tripped_at, h.region_id LIMIT %(most)s::int
