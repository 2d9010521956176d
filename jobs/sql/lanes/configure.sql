-- configure: set the configuration of an existing queue.
UPDATE ojs_queue
   SET config = %(config)s::jsonb, limit_id = %(limit_id)s::bigint, updated_at = now()
 WHERE name = %(queue)s::text
RETURNING name
