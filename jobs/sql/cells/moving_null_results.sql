-- moving_null_results: give stored jobs the result null where they had it: JSON null in a column that
-- was copied as JSON reads as no result.
UPDATE ojs_job AS j SET result = 'null' WHERE j.id = ANY (%(ids)s::uuid[]) AND j.state IS NOT NULL
