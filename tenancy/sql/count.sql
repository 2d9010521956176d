-- count: record new jobs of tenants with a rate, and delete slots that have left the period.
-- `came` is a JSON array of (tenant, period_ms, jobs). A slot is a thousandth of the period and counts
-- from the last job in it. So a period is at most a thousandth too strict and never too generous.
-- Locks: the caller holds the locks of the tenants.
WITH came AS MATERIALIZED (
    SELECT c.tenant, c.jobs, t.at, c.period_ms * interval '1 millisecond' AS period,
           date_bin(greatest(1, c.period_ms / 1000) * interval '1 millisecond', t.at,
                    timestamptz 'epoch') AS slot
      FROM json_to_recordset(%(came)s::json) AS c (tenant text, period_ms bigint, jobs bigint),
           (SELECT clock_timestamp() AS at) AS t
), gone AS (
    DELETE FROM ojs_tenant_enqueued AS n USING came AS c
     WHERE n.tenant = c.tenant AND n.at <= c.at - c.period AND n.slot <> c.slot
)
INSERT INTO ojs_tenant_enqueued AS n (tenant, slot, at, jobs)
SELECT tenant, slot, at, jobs FROM came
ON CONFLICT (tenant, slot) DO UPDATE SET at = excluded.at, jobs = n.jobs + excluded.jobs
