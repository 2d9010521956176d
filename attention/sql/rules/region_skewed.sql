-- region_skewed: find enabled regions whose clock differs too much from the clock of this region.
SELECT h.region_id, NULL::text, h.skewed_at, 0::bigint, 0, jsonb_build_object('skew_s', h.skew_s)::text
  FROM ojs_federation_health AS h
  JOIN ojs_federation_region AS r ON r.id = h.region_id
 WHERE r.enabled AND h.skewed_at IS NOT NULL
 ORDER BY h.skewed_at, h.region_id LIMIT %(most)s::int
