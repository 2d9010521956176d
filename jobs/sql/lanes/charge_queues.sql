-- charge_queues: charge only jobs of these queues by their run time from now on.
-- Locks: the positions that are added or removed; see charge.sql.
WITH gone AS (
    DELETE FROM ojs_charge AS c WHERE c.queue <> ALL (%(queues)s::text[])
)
INSERT INTO ojs_charge (queue, stamp, jobs, mean_ms)
SELECT q, pg_snapshot_xmax(pg_current_snapshot()), 0, 0
  FROM unnest(%(queues)s::text[]) AS q ORDER BY q
ON CONFLICT (queue) DO NOTHING
