-- unblock: release tenants whose lanes are blocked although they have room; finding one is an alarm.
SELECT ojs_release(array_agg(t.tenant)) AS healed
  FROM (SELECT l.tenant, max(l.cap) AS cap FROM ojs_lane AS l
         WHERE l.cap IS NOT NULL AND l.blocked GROUP BY l.tenant) AS t
 WHERE t.cap > (SELECT count(*) FROM ojs_lease AS x WHERE x.tenant = t.tenant AND x.capped)
