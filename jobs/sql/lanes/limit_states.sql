-- limit_states: limits with their present counts, in the order of `ids`. `waiting` counts the
-- available jobs of lane keys that name the limit, up to 10,000. It is 0 for limits of queues and
-- tenants, which lane keys do not name.
SELECT m.id, m.kind, m.tenant, m.key, m.policy::text,
       CASE WHEN o.counts THEN m.override::text END,
       CASE WHEN o.counts THEN m.override_until END,
       coalesce(a.active, 0) AS active,
       (SELECT count(*) FROM (
           SELECT 1 FROM ojs_lane_key AS k
            CROSS JOIN LATERAL (SELECT 1 FROM ojs_ready AS z WHERE z.lane_id = k.id
                                 ORDER BY z.lane_id, z.seq LIMIT 10000) AS r
            WHERE k.limits @> ARRAY[m.id] LIMIT 10000) AS w) AS waiting,
       coalesce(s.jobs, 0) AS started, s.first + o.period AS resets_at, s.last AS last_start_at
  FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY AS i (id, n)
  JOIN ojs_limit AS m ON m.id = i.id
 CROSS JOIN LATERAL (
       SELECT c.counts, coalesce((CASE WHEN c.counts THEN m.override ELSE m.policy END
                                  ->> 'rate_ms')::float8, 0) * interval '1 millisecond' AS period
         FROM (SELECT m.override IS NOT NULL AND coalesce(m.override_until > now(), true)
                          AS counts) AS c) AS o
  LEFT JOIN (  -- one read for all limits
       SELECT h.limit_id, count(*) AS active FROM ojs_hold AS h
        WHERE h.limit_id = ANY (%(ids)s::bigint[]) GROUP BY h.limit_id) AS a ON a.limit_id = m.id
  LEFT JOIN LATERAL (
       SELECT sum(t.jobs) FILTER (WHERE t.at > now() - o.period) AS jobs,
              min(t.at) FILTER (WHERE t.at > now() - o.period) AS first, max(t.at) AS last
         FROM ojs_start AS t WHERE t.limit_id = m.id) AS s ON true
 ORDER BY i.n
