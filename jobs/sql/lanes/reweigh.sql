-- reweigh: give lanes their weights, boosts and sharing policy; `shares` is a JSON array of (lane,
-- weight, boost, is_ordered, is_timed, scope, found_in).
-- Where the order changes, the lanes get virtual times of the other kind at once, for the waiting jobs.
-- In order, it is the `seq` of the first job, or 0 if none is visible: it must not be above the `seq` of
-- a job that is being stored. Otherwise it is the same for all.
-- `found_in` is the queue in which claims find the lane (null: no change; see models.Lane). A lane that
-- moves gets the virtual time of a new lane there, and waiting FETCHes claim again. So does a lane whose
-- rank changes: its former virtual time does not count. Where the scope changes, the tenants' former
-- shares in other queues of either scope do not count.
-- Locks: the lanes that change, in id order.
WITH wanted AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(shares)s::json)
        AS k (id bigint, weight float8, boost smallint, is_ordered boolean, is_timed boolean,
              scope text, found_in text)
), changed AS MATERIALIZED (
    SELECT l.id, k.weight, k.boost, k.is_ordered, k.is_timed, k.scope,
           coalesce(k.found_in, l.queue) AS found_in, coalesce(l.queue <> k.found_in, false) AS moves,
           (-least(100, greatest(-100, l.priority + k.boost)))::smallint AS rank
      FROM ojs_lane AS l JOIN wanted AS k ON k.id = l.id
     WHERE l.weight <> k.weight OR l.boost <> k.boost
        OR l.ordered <> k.is_ordered OR l.timed <> k.is_timed OR l.queue <> k.found_in
        OR l.scope IS DISTINCT FROM k.scope
     ORDER BY l.id FOR NO KEY UPDATE OF l
), woken AS (
    SELECT pg_notify('ojs_ready', '') FROM (SELECT 1 FROM changed WHERE moves LIMIT 1) AS moved
)
UPDATE ojs_lane AS l
   SET weight = c.weight, boost = c.boost, ordered = c.is_ordered, timed = c.is_timed,
       queue = c.found_in, scope = c.scope,
       paid = CASE WHEN c.scope IS NULL THEN 0
                   WHEN l.scope = c.scope AND l.rank = c.rank AND NOT c.moves THEN l.paid
                   ELSE ojs_served(c.scope, c.rank, l.tenant) END,
       vt = CASE WHEN l.ordered = c.is_ordered AND (l.ordered OR NOT c.moves AND l.rank = c.rank)
                 THEN l.vt
                 WHEN c.is_ordered
                 THEN coalesce((SELECT z.seq FROM ojs_ready AS z WHERE z.lane_id = c.id
                                 ORDER BY z.lane_id, z.seq LIMIT 1), 0)
                 WHEN l.ordered AND NOT c.moves THEN 0
                 ELSE coalesce(CASE WHEN c.scope IS NULL THEN ojs_present(c.found_in, c.rank)
                                    ELSE ojs_present_shared(c.scope, c.found_in, c.rank) END,
                               CASE WHEN l.ordered THEN 0 ELSE l.vt END) END
  FROM changed AS c
 WHERE l.id = c.id AND l.id = ANY (ARRAY(SELECT id FROM changed))
RETURNING l.id, (SELECT count(*) FROM woken) AS woken
