-- misplaced: at most `most` tenants with lanes in a namespace although the tenant has none, or the
-- reverse. `isolates`: tenants without an isolation model have namespaces, except `default`.
SELECT DISTINCT l.tenant
  FROM ojs_lane AS l LEFT JOIN ojs_tenant AS t ON t.id = l.tenant
 WHERE (l.queue <> ojs_queue_of(l.queue))
    <> (%(enabled)s::boolean AND l.tenant <> %(default)s::text
        AND CASE WHEN t.isolation IS NULL THEN %(isolates)s::boolean
                 ELSE t.isolation = 'namespace' END)
 ORDER BY l.tenant LIMIT %(most)s::int
