-- aggregate_from_start: set the position of the aggregation before the first event, once.
INSERT INTO ojs_fold_position (id, stamp) VALUES (1, '0') ON CONFLICT DO NOTHING
