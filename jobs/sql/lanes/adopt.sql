-- adopt: count the active jobs of a queue or tenant for the limit that it just got.
-- A job that ends at the same time gets no row: its lease is locked or gone.
-- Locks: the leases, in id order.
WITH held AS MATERIALIZED (
    SELECT x.id, m.id AS limit_id
      FROM ojs_limit AS m, ojs_lease AS x
      JOIN ojs_lane_key AS k ON k.id = x.lane_id
     WHERE m.id = %(id)s::bigint
       AND CASE m.kind WHEN 1 THEN k.queue = m.key ELSE k.tenant = m.tenant END
       AND NOT coalesce(m.id = ANY (x.limits), false)
     ORDER BY x.id FOR UPDATE OF x
), noted AS (
    UPDATE ojs_lease AS x SET limits = x.limits || h.limit_id FROM held AS h WHERE x.id = h.id
    RETURNING h.limit_id, x.id
)
INSERT INTO ojs_hold (limit_id, job_id) SELECT limit_id, id FROM noted
