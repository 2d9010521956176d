-- has_unread: whether `fold` has events to aggregate, or its position is not set yet.
SELECT NOT EXISTS (SELECT FROM ojs_fold_position WHERE id = 1)
       OR EXISTS (SELECT FROM ojs_event AS e
                   WHERE e.stamp >= (SELECT stamp FROM ojs_fold_position WHERE id = 1)
                     AND e.stamp < pg_snapshot_xmin(pg_current_snapshot()))
