-- ojs_tenant_labels: return the labels of tenants in metrics. The first `p_most` tenants that ever
-- came have their own names, new tenants in the order of p_tenants. All further tenants share one
-- label. The label is '' if p_most is 0.
--
-- The caller holds the position of the aggregation, and each statement has a snapshot of its own.
-- So each call sees the rows that the previous call stored, and no more than `p_most` tenants ever
-- get a place.
CREATE OR REPLACE FUNCTION ojs_tenant_labels(p_tenants text[], p_most int)
RETURNS TABLE (tenant text, label text) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO ojs_tenant_label AS n (tenant, place)
    SELECT u.tenant,
           (SELECT count(*) FROM ojs_tenant_label) + row_number() OVER (ORDER BY u.n) AS place
      FROM unnest(p_tenants) WITH ORDINALITY AS u (tenant, n)
     WHERE NOT EXISTS (SELECT FROM ojs_tenant_label AS l WHERE l.tenant = u.tenant)
     ORDER BY place LIMIT greatest(0, p_most - (SELECT count(*) FROM ojs_tenant_label));
    RETURN QUERY
    SELECT u.tenant, CASE WHEN p_most = 0 THEN '' WHEN l.place <= p_most THEN u.tenant
                          ELSE '_other' END
      FROM unnest(p_tenants) AS u (tenant)
      LEFT JOIN ojs_tenant_label AS l ON l.tenant = u.tenant;
END
$$
