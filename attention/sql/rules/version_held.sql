-- version_held: find versions whose jobs no live worker accepts, as noted by the loop `held_versions`.
SELECT r.type, NULL::text, min(h.since), sum(h.jobs)::bigint, NULL::int,
       jsonb_build_object('versions', jsonb_agg(DISTINCT v.version))::text
  FROM ojs_version_held AS h
  JOIN ojs_version_route AS r ON r.id = h.route
 CROSS JOIN LATERAL (SELECT coalesce(r.to_major || '.' || r.to_minor,
                                     r.major || '.' || r.minor) AS version) AS v
 WHERE h.told_at IS NOT NULL
 GROUP BY r.type ORDER BY 4 DESC, 1 LIMIT %(most)s::int
