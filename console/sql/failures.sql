-- failures: the latest failed attempts, by their index; with a tenant only its attempts among the latest
-- `looked` of all.
SELECT e.job_id, e.at, e.queue, e.type, e.attempt, e.data #>> '{error,type}' AS error_type,
       e.data #>> '{error,message}' AS message
  FROM (SELECT f.job_id, f.at, f.queue, f.type, f.attempt, f.data, f.tenant, f.stamp, f.seq
          FROM ojs_event AS f WHERE f.kind = 5
         ORDER BY f.stamp DESC, f.seq DESC LIMIT %(looked)s::int) AS e
 WHERE %(tenant)s::text IS NULL OR e.tenant = %(tenant)s::text
 ORDER BY e.stamp DESC, e.seq DESC LIMIT %(size)s::int
