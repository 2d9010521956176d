-- lanes: the queue of the backlog with one lane per tenant, no lane active yet.
INSERT INTO ojs_queue (name) VALUES ('bench'), ('bench-in') ON CONFLICT DO NOTHING;
WITH key AS (
    INSERT INTO ojs_lane_key (queue, priority, tenant)
    SELECT 'bench', 0, 'tenant-' || n FROM generate_series(1, {lanes}) AS n
    ON CONFLICT DO NOTHING RETURNING id, queue, priority, tenant
)
INSERT INTO ojs_lane (id, queue, priority, tenant) SELECT id, queue, priority, tenant FROM key;
