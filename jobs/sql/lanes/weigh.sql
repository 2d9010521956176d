-- weigh: give all lanes of a tenant a weight (null: it stays) and, if there is one, the limit.
-- Opens all blocked lanes of the tenant, since the limit may have changed.
-- Locks: the lanes, in id order.
UPDATE ojs_lane AS l
   SET weight = coalesce(%(weight)s::float8, l.weight), blocked_by = NULL, blocked_until = NULL,
       limits = CASE WHEN %(limit_id)s::bigint IS NULL OR %(limit_id)s::bigint = ANY (l.limits)
                     THEN l.limits ELSE l.limits || %(limit_id)s::bigint END
  FROM (SELECT b.id FROM ojs_lane AS b
         WHERE b.id = ANY (ARRAY(SELECT k.id FROM ojs_lane_key AS k
                                  WHERE k.tenant = %(tenant)s::text))
         ORDER BY b.id FOR NO KEY UPDATE) AS s
 WHERE l.id = s.id
RETURNING l.id
