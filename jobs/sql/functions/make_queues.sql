-- ojs_make_queues: make the queues that do not exist, configured by the template, and return their
-- names. Each statement that may meet a new name calls it.
-- Locks: new rows only, in order; it waits for a concurrent maker of the same queue. Then the row
-- of the queue's limit: a change of a queue's configuration uses the same order.
CREATE OR REPLACE FUNCTION ojs_make_queues(p_names text[]) RETURNS text[]
LANGUAGE plpgsql STRICT AS $$
DECLARE
    template ojs_queue_template;
    made text[];
BEGIN
    SELECT * INTO template FROM ojs_queue_template AS t WHERE t.id = 1;
    WITH new AS (
        INSERT INTO ojs_queue (name, config)
        SELECT n, coalesce(template.config, '{}')
          FROM (SELECT DISTINCT u AS n FROM unnest(p_names) AS u ORDER BY 1) AS d
        ON CONFLICT DO NOTHING
        RETURNING name
    )
    SELECT coalesce(array_agg(name), '{}') INTO made FROM new;
    IF template.policy IS NOT NULL AND made <> '{}' THEN
        -- a deleted queue leaves its limit behind
        WITH limited AS (
            INSERT INTO ojs_limit (kind, tenant, key, policy, slot_ms)
            SELECT 1, '*', n, template.policy, template.slot_ms FROM unnest(made) AS n ORDER BY n
            ON CONFLICT (kind, tenant, key) DO UPDATE
               SET policy = excluded.policy, slot_ms = excluded.slot_ms, updated_at = now()
            RETURNING id, key
        )
        UPDATE ojs_queue AS q SET limit_id = m.id FROM limited AS m WHERE q.name = m.key;
    END IF;
    RETURN made;
END $$
