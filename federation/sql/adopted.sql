-- adopted: store the jobs here that replaced a region's jobs; `waiting` has locked the copies.
UPDATE ojs_federation_job AS m SET adopted_as = g.adopted_as
  FROM json_to_recordset(%(rows)s::json) AS g (job_id uuid, adopted_as uuid)
 WHERE m.origin_region = %(region)s::text AND m.job_id = g.job_id
   AND m.job_id = ANY (ARRAY(SELECT x.job_id FROM json_to_recordset(%(rows)s::json)
                                AS x (job_id uuid)))
