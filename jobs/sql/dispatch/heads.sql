-- heads: the next jobs of a lane, at most `number`.
SELECT z.id FROM ojs_ready AS z WHERE z.lane_id = %(lane_id)s::bigint
 ORDER BY z.lane_id, z.seq LIMIT %(number)s::int
