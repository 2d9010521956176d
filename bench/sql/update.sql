-- The limit of a save: the same bytes in a row of the same table shape.
UPDATE bench_saves SET state = {state}, saved_at = now() WHERE id = {id}::uuid;
