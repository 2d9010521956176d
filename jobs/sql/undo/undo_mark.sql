-- undo_mark: store the outcomes of an undo, and count them. `outcomes` is one JSON object by job id.
WITH marked AS (
    UPDATE ojs_undo_job AS u SET outcome = o.value
      FROM json_each_text(%(outcomes)s::json) AS o
     WHERE u.undo_id = %(undo)s::bigint AND u.job_id = o.key::uuid AND u.outcome IS NULL
    RETURNING u.outcome
)
UPDATE ojs_undo AS u
   SET restored = u.restored + m.restored, left_out = u.left_out + m.others
  FROM (SELECT count(*) FILTER (WHERE outcome = 'restored') AS restored,
               count(*) FILTER (WHERE outcome <> 'restored') AS others FROM marked) AS m
 WHERE u.id = %(undo)s::bigint
