-- reweigh: give lanes their weights, and say whether jobs go in their order; `shares` is a JSON array of
-- (lane, weight, is_ordered, is_timed, found_in).
-- Where that changes the lanes get virtual times of the other kind at once, for the jobs that wait: the
-- `seq` of their first one (0 where none is to be seen: it must not lie behind one that is being
-- stored), or the same for all.
-- `found_in` is the queue that claims find the lane in (null: as it is; see models.Lane). A lane that
-- moves comes to its new neighbours as one that was made there, and whoever waits looks again.
-- Locks: the lanes that change, in id order.
WITH wanted AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(shares)s::json)
        AS k (id bigint, weight float8, is_ordered boolean, is_timed boolean, found_in text)
), changed AS MATERIALIZED (
    SELECT l.id, k.weight, k.is_ordered, k.is_timed, coalesce(k.found_in, l.queue) AS found_in,
           l.queue <> k.found_in AS moves
      FROM ojs_lane AS l JOIN wanted AS k ON k.id = l.id
     WHERE l.weight <> k.weight OR l.ordered <> k.is_ordered OR l.timed <> k.is_timed
        OR l.queue <> k.found_in
     ORDER BY l.id FOR NO KEY UPDATE OF l
), woken AS (
    SELECT pg_notify('ojs_ready', '') FROM (SELECT 1 FROM changed WHERE moves LIMIT 1) AS moved
)
UPDATE ojs_lane AS l
   SET weight = c.weight, ordered = c.is_ordered, timed = c.is_timed, queue = c.found_in,
       vt = CASE WHEN l.ordered = c.is_ordered AND (l.ordered OR c.moves IS NOT TRUE) THEN l.vt
                 WHEN c.is_ordered
                 THEN coalesce((SELECT z.seq FROM ojs_ready AS z WHERE z.lane_id = c.id
                                 ORDER BY z.lane_id, z.seq LIMIT 1), 0)
                 WHEN c.moves THEN ojs_present(c.found_in, l.rank)
                 ELSE 0 END
  FROM changed AS c
 WHERE l.id = c.id AND l.id = ANY (ARRAY(SELECT id FROM changed))
RETURNING l.id, (SELECT count(*) FROM woken) AS woken
