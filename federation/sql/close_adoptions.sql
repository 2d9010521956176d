-- close_adoptions: mark adoptions as handled; `rows` is a JSON array.
-- `open_adoptions` has locked the copies.
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(rows)s::json) AS g (origin_region text, job_id uuid)
)
UPDATE ojs_federation_job AS m SET settled_at = now()
  FROM given AS g
 WHERE m.origin_region = g.origin_region AND m.job_id = g.job_id
   AND m.origin_region = ANY (ARRAY(SELECT origin_region FROM given))
   AND m.job_id = ANY (ARRAY(SELECT job_id FROM given))
