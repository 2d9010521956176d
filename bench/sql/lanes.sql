-- lanes: the queue of the backlog with one lane per tenant, none active yet.
INSERT INTO ojs_queue (name) VALUES ('bench'), ('bench-in') ON CONFLICT DO NOTHING;
INSERT INTO ojs_lane (queue, priority, tenant, route)
SELECT 'bench', 0, 'tenant-' || n, 0 FROM generate_series(1, {lanes}) AS n
ON CONFLICT DO NOTHING;
