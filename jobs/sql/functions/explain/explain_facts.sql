-- ojs_explain_facts: return the facts of one job that do not depend on other jobs: its queue, lane,
-- limits and workers, as members of ojs_explain. Reads only.
--
-- p_name: the job's queue. p_queue: its row, if it exists. p_reopens: the next claim opens the
-- lane. p_silence_ms and p_minutes as in ojs_explain.
CREATE OR REPLACE FUNCTION ojs_explain_facts(
    p_job uuid, p_name text, p_queue ojs_queue, p_key ojs_lane_key, p_lane ojs_lane,
    p_reopens boolean, p_silence_ms bigint, p_minutes int, p_now timestamptz
) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN jsonb_build_object(
        'now', p_now,
        'is_known', p_queue.name IS NOT NULL,
        'paused_at', p_queue.paused_at,
        'is_draining', p_queue.draining,
        'maintenance', (SELECT jsonb_build_object('since', m.started_at, 'until', m.ends_at,
                                                  'reason', m.reason)
                          FROM ojs_maintenance AS m WHERE ojs_in_force(m.ends_at)),
        'lane', CASE WHEN p_key.id IS NOT NULL THEN jsonb_build_object(
            'id', p_key.id, 'priority', p_key.priority, 'boost', coalesce(p_lane.boost, 0),
            'effective_priority', coalesce(-p_lane.rank, p_key.priority),
            'route', coalesce(p_lane.route, p_key.route)) END,
        'is_apart', coalesce(p_lane.queue <> p_name, false),
        'is_paused', coalesce(p_lane.paused, false),
        'is_blocked', p_lane.blocked_by IS NOT NULL AND NOT p_reopens,
        'is_offered', coalesce(ojs_offered(p_lane.active, CASE WHEN p_reopens THEN NULL
                                           ELSE p_lane.blocked_by END, p_lane.paused), false),
        'expired', (SELECT NOT ojs_fresh(e.expires_at, p_now)
                      FROM (SELECT y.expires_at FROM ojs_ready AS y WHERE y.id = p_job
                            UNION ALL
                            SELECT z.expires_at FROM ojs_later AS z WHERE z.id = p_job) AS e),
        'limits', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                       'id', m.id, 'kind', m.kind, 'tenant', m.tenant, 'key', m.key,
                       'room', o.room, 'opens_at', o.opens_at, 'strategy', o.strategy,
                       'policy', o.policy, 'active', o.active, 'started', o.started,
                       'blocks', m.id = p_lane.blocked_by AND NOT p_reopens,
                       'blocked_until', CASE WHEN m.id = p_lane.blocked_by
                                             THEN p_lane.blocked_until END)
                       ORDER BY x.n), '[]')
                     FROM unnest(p_queue.limit_id || coalesce(p_lane.limits, p_key.limits, '{}'))
                          WITH ORDINALITY AS x (id, n)
                     JOIN ojs_limit AS m ON m.id = x.id
                    CROSS JOIN LATERAL ojs_usage(m, p_now) AS o),
        'workers', (SELECT jsonb_build_object(
                        'serving', count(*) FILTER (WHERE w.is_here AND w.runs),
                        'quiet', count(*) FILTER (WHERE w.is_here AND NOT w.runs),
                        'unsaid', count(*) FILTER (WHERE w.is_here IS NULL AND w.runs),
                        'elsewhere', count(*) FILTER (WHERE NOT w.is_here AND w.runs))
                      FROM (SELECT CASE WHEN jsonb_typeof(w.queues) = 'array'
                                        THEN w.queues ? p_name END AS is_here,
                                   greatest(w.directive, w.reported) = 0 AS runs
                              FROM ojs_worker AS w
                             WHERE w.stopped_at IS NULL AND w.dead_at IS NULL
                               AND (w.last_heartbeat_at IS NULL OR w.last_heartbeat_at
                                    >= p_now - p_silence_ms * interval '1 millisecond')) AS w),
        'started', (SELECT coalesce(sum(n.started), 0) FROM ojs_period AS n
                     WHERE n.span_s = 60 AND n.at > p_now - p_minutes * interval '1 minute'
                       AND n.queue = p_name),
        'decision', (SELECT jsonb_build_object('at', e.at, 'worker_id', e.worker_id,
                                               'attempt', e.attempt, 'waited_ms', e.took_ms)
                       FROM (SELECT s.* FROM ojs_event AS s WHERE s.job_id = p_job OFFSET 0) AS e
                      WHERE e.kind = 3 ORDER BY e.stamp DESC, e.seq DESC LIMIT 1));
END $$
