-- ojs_queue_of: the queue that jobs of a lane are in, by the one that claims find the lane in: of
-- `tenant:queue` the last part. See models.Lane.
CREATE OR REPLACE FUNCTION ojs_queue_of(p_queue text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT substring(p_queue FROM '[^:]*$')
$$
