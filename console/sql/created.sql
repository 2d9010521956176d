-- created: when the oldest and the newest of some jobs were created, by the group of each job.
SELECT g.name, min(j.created_at), max(j.created_at)
  FROM unnest(%(ids)s::uuid[], %(groups)s::text[]) AS g (id, name)
  JOIN ojs_job AS j ON j.id = g.id
 GROUP BY g.name
