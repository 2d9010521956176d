-- correct_keys: correct the keys that this transaction stored. `keys` is a JSON array of federation ids
-- with their final jobs; null: no job, and the key is deleted. `reserve` has locked the keys.
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(keys)s::json)
        AS g (tenant text, federation_id uuid, job_id uuid)
), gone AS (
    DELETE FROM ojs_federation_key AS k USING given AS g
     WHERE k.tenant = g.tenant AND k.federation_id = g.federation_id AND g.job_id IS NULL
       AND k.federation_id = ANY (ARRAY(SELECT federation_id FROM given))
       AND k.tenant = ANY (ARRAY(SELECT tenant FROM given))
)
UPDATE ojs_federation_key AS k SET job_id = g.job_id
  FROM given AS g
 WHERE k.tenant = g.tenant AND k.federation_id = g.federation_id AND g.job_id IS NOT NULL
   AND k.federation_id = ANY (ARRAY(SELECT federation_id FROM given))
   AND k.tenant = ANY (ARRAY(SELECT tenant FROM given))
