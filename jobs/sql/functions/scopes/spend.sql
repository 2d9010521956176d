-- ojs_spend: add started jobs to the costs of their tenants in a scope. The arrays have one entry
-- for each lane: its scope (null: none), rank, tenant, number of jobs and weight. The new cost is a
-- new row and the former row is deleted: see models.Served.
-- Locks: none; the caller holds the locks of the scopes.
CREATE OR REPLACE FUNCTION ojs_spend(
    p_scopes text[], p_ranks smallint[], p_tenants text[], p_jobs int[], p_weights float8[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    WITH spent AS MATERIALIZED (
        SELECT u.scope, u.rank, u.tenant, sum(u.jobs / u.weight) AS cost
          FROM unnest(p_scopes, p_ranks, p_tenants, p_jobs, p_weights)
               AS u (scope, rank, tenant, jobs, weight)
         WHERE u.scope IS NOT NULL AND u.jobs > 0
         GROUP BY u.scope, u.rank, u.tenant
    ), before AS MATERIALIZED (
        SELECT x.scope, x.rank, x.tenant, x.cost, (
               SELECT s.cost FROM ojs_served AS s
                WHERE s.scope = x.scope COLLATE "C" AND s.rank = x.rank
                  AND s.tenant = x.tenant COLLATE "C"
                ORDER BY s.scope DESC, s.rank DESC, s.tenant DESC, s.cost DESC LIMIT 1) AS latest
          FROM spent AS x
    ), gone AS (
        DELETE FROM ojs_served AS s USING before AS b
         WHERE s.scope = b.scope COLLATE "C" AND s.rank = b.rank
           AND s.tenant = b.tenant COLLATE "C" AND s.cost = b.latest
    )
    INSERT INTO ojs_served (scope, rank, tenant, cost)
    SELECT b.scope, b.rank, b.tenant, coalesce(b.latest, 0) + b.cost FROM before AS b;
END $$
