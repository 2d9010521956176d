-- undo_null_results: give restored jobs the result null where they had it: JSON null in a column that
-- was copied as JSON reads as no result.
UPDATE ojs_job AS j SET result = 'null'
  FROM ojs_undo_job AS u
 WHERE u.undo_id = %(undo)s::bigint AND u.job_id = ANY (%(ids)s::uuid[]) AND j.id = u.job_id
   AND j.state IS NOT NULL AND j.result IS NULL
   AND (u.image ->> 'nulls')::boolean
