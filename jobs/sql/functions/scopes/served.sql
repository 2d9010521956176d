-- ojs_served: return the cost of a tenant at a rank in all queues of a scope; see models.Served. It
-- is PL/pgSQL, so that statements for lanes without a scope do not open this table.
CREATE OR REPLACE FUNCTION ojs_served(p_scope text, p_rank smallint, p_tenant text) RETURNS float8
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce((SELECT s.cost FROM ojs_served AS s
                      WHERE s.scope = p_scope COLLATE "C" AND s.rank = p_rank
                        AND s.tenant = p_tenant COLLATE "C"
                      ORDER BY s.scope DESC, s.rank DESC, s.tenant DESC, s.cost DESC LIMIT 1), 0);
END $$
SET enable_seqscan = off
SET enable_bitmapscan = off
