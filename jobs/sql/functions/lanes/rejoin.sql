-- ojs_rejoin: return the virtual time at which an empty or blocked lane is offered (again).
--
-- For an `ordered` lane this is the `seq` of its first job. The statement that wakes the lane may
-- not have stored its jobs yet; the latest `seq` of all lanes is then a lower bound. For other
-- lanes the function uses ojs_joined. If the lane has a scope, the caller also sets `paid` to
-- ojs_served: from then on the lane is charged for its tenant's starts in other queues.
CREATE OR REPLACE FUNCTION ojs_rejoin(p_lane ojs_lane) RETURNS float8
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_lane.ordered
                THEN coalesce((SELECT z.seq FROM ojs_ready AS z
                                WHERE z.lane_id = p_lane.id AND z.seq >= p_lane.low - 128
                                ORDER BY z.lane_id, z.seq LIMIT 1),
                              (SELECT s.last_value FROM ojs_ready_seq_seq AS s))
                WHEN p_lane.scope IS NULL
                THEN ojs_joined(p_lane.vt, p_lane.weight, p_lane.timed,
                                ojs_present(p_lane.queue, p_lane.rank))
                ELSE ojs_joined(p_lane.vt + greatest(ojs_served(p_lane.scope, p_lane.rank,
                                                                p_lane.tenant) - p_lane.paid, 0),
                                p_lane.weight, p_lane.timed,
                                ojs_present_shared(p_lane.scope, p_lane.queue, p_lane.rank)) END
$$
