-- unblock: unblock lanes whose limit has room; finding one is an alarm.
SELECT ojs_release('{}', array_agg(b.id)) AS healed
  FROM (SELECT m.id, ojs_limit_policy(m, now()) AS policy
          FROM (SELECT DISTINCT l.blocked_by AS id FROM ojs_lane AS l
                 WHERE l.blocked_by IS NOT NULL AND l.blocked_until IS NULL) AS d
          JOIN ojs_limit AS m ON m.id = d.id) AS b
 WHERE NOT coalesce(b.policy ? 'concurrency', false)
    OR (b.policy ->> 'concurrency')::int
       > (SELECT count(*) FROM ojs_hold AS h WHERE h.limit_id = b.id)
