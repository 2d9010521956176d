-- ojs_queue_of: return the queue of a lane's jobs, from the queue in the lane's row: of
-- `tenant:queue` the last part. See models.Lane.
CREATE OR REPLACE FUNCTION ojs_queue_of(p_queue text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT split_part(p_queue, ':', -1)
$$
