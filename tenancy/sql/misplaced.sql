-- misplaced: tenants with lanes that are kept apart though they should not be, or the other way round,
-- at most `most`. `isolates`: tenants that say nothing have namespaces, but for `default`.
SELECT DISTINCT l.tenant
  FROM ojs_lane AS l LEFT JOIN ojs_tenant AS t ON t.id = l.tenant
 WHERE (l.queue <> ojs_queue_of(l.queue))
    <> (%(enabled)s::boolean AND l.tenant <> %(default)s::text
        AND CASE WHEN t.isolation IS NULL THEN %(isolates)s::boolean
                 ELSE t.isolation = 'namespace' END)
 ORDER BY l.tenant LIMIT %(most)s::int
